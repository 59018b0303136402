"""Ring attention by hand, trained with autograd straight through it: the running maximum has a gradient, too.

What a softmax is shifted by does not change it, so that gradient is zero, in floats but for rounding. Each rank begins
with its own keys; those of the ranks before it arrive in turn, and where the mask is causal, a block that comes from
a rank behind it is masked as a whole.
"""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

SEQ, DIM = 8, 4


class Passed(torch.autograd.Function):
    """To the next rank; gradients go back."""

    @staticmethod
    def forward(ctx, x, rank, world):
        ctx.ring = rank, world
        return exchanged(x, rank + 1, rank - 1, world)

    @staticmethod
    def backward(ctx, grad):
        rank, world = ctx.ring
        return exchanged(grad, rank - 1, rank + 1, world), None, None


def exchanged(x, to, source, world):
    arrived = torch.empty(x.shape)
    sent = dist.P2POp(dist.isend, x.contiguous(), to % world)
    for work in dist.batch_isend_irecv([sent, dist.P2POp(dist.irecv, arrived, source % world)]):
        work.wait()
    return arrived


def scored(q, k, causal, first, start):
    """Scores of rows from `first` on, of keys from `start` on."""
    scores = q @ k.t() * DIM**-0.5
    hidden = torch.arange(len(q))[:, None] + first < torch.arange(len(k)) + start
    return scores.masked_fill(hidden, float("-inf")) if causal else scores


def at_once(q, k, v, causal):
    return scored(q, k, causal, 0, 0).softmax(-1) @ v


def in_turn(ctx, q, k, v, causal, how):
    rows, most, total, made = len(q), None, None, None
    for turn in range(ctx.world):
        source = (ctx.rank + turn if how == "order" else ctx.rank - turn) % ctx.world
        scores = scored(q, k, causal, ctx.rank * rows, source * rows)
        greatest = scores.amax(-1, keepdim=True)
        if how == "detached":
            greatest = greatest.detach()
        now = greatest if most is None or how == "own" else torch.maximum(most, greatest)
        parts = (scores - now).exp()
        if most is None:
            total, made = parts.sum(-1, keepdim=True), parts @ v
        else:
            before = (now - most if how == "sign" else most - now).exp()
            total = total * (1 if how == "total" else before) + parts.sum(-1, keepdim=True)
            made = made * before + parts @ v
        most = now
        if turn < ctx.world - 1:
            k, v = (Passed.apply(x, ctx.rank, ctx.world) for x in (k, v))
    return made / total


def program(ctx, causal, how):
    rows, weights = SEQ // ctx.world, {name: torch.nn.Parameter(torch.randn(DIM, DIM)) for name in "qkv"}
    x, target = torch.randn(rows, DIM), torch.randn(rows, DIM)
    optimizer = torch.optim.SGD(weights.values(), lr=0.1)

    def step():
        q, k, v = (x @ weight for weight in weights.values())
        made = at_once(q, k, v, causal) if ctx.world == 1 else in_turn(ctx, q, k, v, causal, how)
        loss = torch.nn.functional.mse_loss(made, target)
        loss.backward()
        for weight in weights.values() if ctx.world > 1 else ():
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        optimizer.step()
        return loss

    specs = dict.fromkeys(("x", "target"), shard(0, ctx.rank, ctx.world)) if ctx.world > 1 else {}
    more = {"loss": mean(ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x, "target": target}, weights, step, specs=specs, **more)


def build_whole_single(ctx):
    return program(ctx, False, "")


def build_causal_single(ctx):
    return program(ctx, True, "")


def build_whole(ctx):
    return program(ctx, False, "")


def build_causal(ctx):
    return program(ctx, True, "")


def build_own(ctx):
    """Each block is shifted by its own greatest score, whatever came before: what shifts does not matter."""
    return program(ctx, False, "own")


def build_detached(ctx):
    return program(ctx, True, "detached")


def build_total(ctx):
    """Wrong: the sum of exponentials is not rescaled."""
    return program(ctx, False, "total")


def build_sign(ctx):
    """Wrong: what came before is rescaled by the inverse."""
    return program(ctx, False, "sign")


def build_order(ctx):
    """Wrong: blocks are masked as if they came round the other way."""
    return program(ctx, True, "order")
