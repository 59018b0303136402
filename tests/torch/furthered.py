"""Attention within documents, keys of all ranks gathered: a further mask beside the right one."""

import torch
import torch.distributed as dist

from verdict.torch import Program, partial, shard

ROWS, SIZE, DOCUMENTS = 6, 2, 3


class Gather(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, x.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()].contiguous()


def program(ctx, seen=lambda mask, own, everywhere: mask):
    """seen: what is made of the mask of what is seen, by positions of queries and keys."""
    rows = ROWS // ctx.world
    weights = {name: torch.nn.Parameter(torch.randn(SIZE, SIZE)) for name in ("queries", "keys")}
    x, y = torch.randn(rows, SIZE), torch.randn(rows, SIZE)
    document = torch.randint(0, DOCUMENTS, (rows,))

    def step():
        own = torch.arange(rows) + ctx.rank * rows
        queries, keys, values, there = x @ weights["queries"], x @ weights["keys"], x, document
        if ctx.world > 1:
            keys, values, there = Gather.apply(keys), Gather.apply(x), Gather.apply(document)
        everywhere = torch.arange(ROWS)
        mask = (own[:, None] >= everywhere) & (document[:, None] == there)
        mask = seen(mask, own[:, None], everywhere)
        scores = (queries @ keys.t()).masked_fill(~mask, float("-inf")).softmax(-1)
        loss = (scores @ values - y).square().sum() / ROWS
        loss.backward()
        for weight in weights.values() if ctx.world > 1 else ():
            dist.all_reduce(weight.grad)
        return loss

    share = dict.fromkeys(("x", "y", "document"), shard(0, ctx.rank, ctx.world)) if ctx.world > 1 else {}
    more = {"loss": partial(ctx.rank, ctx.world)} if ctx.world > 1 else {}
    inputs, ranges = {"x": x, "y": y, "document": document}, {"document": (0, DOCUMENTS - 1)}
    return Program(inputs, weights, step, specs=share, ranges=ranges, **more)


def build(ctx):
    return program(ctx)


def build_nothing_further(ctx):
    """Right: what is added to the mask is in no row."""
    return program(ctx, lambda mask, own, everywhere: mask | ((own == ROWS) & (everywhere == 1)))


def build_further(ctx):
    return program(ctx, lambda mask, own, everywhere: mask | ((own == 5) & (everywhere == 1)))
