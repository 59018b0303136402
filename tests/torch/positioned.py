"""Causal attention of each rank's queries to all keys; each wrong one has positions or a mask of other places."""

import torch
import torch.distributed as dist
from torch.nn import Parameter

from verdict.torch import Program, partial, shard

S, D = 4, 2


class Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx, own):
        parts = [torch.empty_like(own) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, own.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        total = grad.contiguous().clone()
        dist.all_reduce(total)
        return total.chunk(dist.get_world_size())[dist.get_rank()]


def turned(x, positions):
    angles = positions.float()[:, None] * 0.5
    one, other, cos, sin = x[:, :1], x[:, 1:], angles.cos(), angles.sin()
    return torch.cat([one * cos - other * sin, one * sin + other * cos], 1)


def attention(q, k, v, mask):
    return (q @ k.T).masked_fill(~mask, float("-inf")).softmax(-1) @ v


def window(n, rank, reach, shift=0):
    """Which of all keys each of the rank's queries sees: itself and as many before it as make `reach`."""
    keys = torch.arange(S) - shift if shift else torch.arange(S)
    back = (torch.arange(n) + rank * n)[:, None] - keys[None]
    return (back >= 0) & (back < reach)


def program(ctx=None, of_keys=None, mask_of=None):
    ranks, rank = (ctx.world, ctx.rank) if ctx else (1, 0)
    torch.manual_seed(0)
    n = S // ranks
    wq, wk, wv = (Parameter(torch.randn(D, D)) for _ in range(3))
    x, t = torch.randn(n, D), torch.randn(n, D)

    def step():
        own = torch.arange(n) + rank * n
        q, k, v = turned(x @ wq, own), turned(x @ wk, of_keys(n) if of_keys else own), x @ wv
        if ranks > 1:
            k, v = Gathered.apply(k), Gathered.apply(v)
        mask = mask_of(n) if mask_of else torch.ones(S, S, dtype=torch.bool).tril()[rank * n : (rank + 1) * n]
        loss = ((attention(q, k, v, mask) - t) ** 2).sum() / S
        loss.backward()
        if ranks > 1:
            for weight in (wq, wk, wv):
                dist.all_reduce(weight.grad)
        return loss

    given, weights = {"x": x, "t": t}, {"wq": wq, "wk": wk, "wv": wv}
    if ctx is None:
        return Program(given, weights, step)
    return Program(given, weights, step, specs=dict.fromkeys(given, shard(0, rank, ranks)), loss=partial(rank, ranks))


def build_single(ctx):
    return program()


def build_right(ctx):
    return program(ctx)


def build_keys_from_zero(ctx):
    def from_zero(n):
        return torch.arange(n + 1)[:n]

    return program(ctx, of_keys=from_zero)


def build_mask_of_first_rows(ctx):
    def first_rows(n):
        return torch.ones(n, S, dtype=torch.bool).tril()

    return program(ctx, mask_of=first_rows)


def build_no_mask(ctx):
    def everything(n):
        return torch.ones(n, S, dtype=torch.bool)

    return program(ctx, mask_of=everything)


def build_window_single(ctx):
    return program(mask_of=lambda n: window(n, 0, 2))


def build_window_right(ctx):
    return program(ctx, mask_of=lambda n: window(n, ctx.rank, 2))


def build_window_wider(ctx):
    return program(ctx, mask_of=lambda n: window(n, ctx.rank, 3))


def build_window_wider_once(ctx):
    return program(ctx, mask_of=lambda n: window(n, ctx.rank, 2 + ctx.rank))


def build_window_shifted(ctx):
    return program(ctx, mask_of=lambda n: window(n, ctx.rank, 2, shift=1))
