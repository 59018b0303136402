"""Causal attention in blocks of keys, merged as they come (an online softmax), on two ranks with half of the rows each.

On rank 0 the second block is masked as a whole: the maximum of its scores is minus infinity.
"""

import torch
import torch.distributed as dist

from verdict.torch import Program, partial, shard

ROWS, DIM = 4, 2


def program(ctx, merged=None):
    rows = ROWS // ctx.world
    x, weight = torch.randn(rows, DIM), torch.nn.Parameter(torch.randn(DIM, DIM))
    visible = torch.arange(rows)[:, None] + ctx.rank * rows >= torch.arange(ROWS)

    def step():
        query = x @ weight
        if merged is None:
            made = (query @ x.T).masked_fill(~visible, float("-inf")).softmax(1) @ x
        else:
            keys = [torch.empty_like(x) for _ in range(ctx.world)]
            dist.all_gather(keys, x)
            made = blocks(query, keys, visible.chunk(ctx.world, 1), merged)
        loss = made.square().sum()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    loss = {"loss": partial(ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"weight": weight}, step, specs=specs, **loss)


def blocks(query, keys, visible, corrected):
    most, total, made = torch.full((len(query), 1), -1e9), torch.zeros(len(query), 1), torch.zeros(len(query), DIM)
    for block, seen in zip(keys, visible, strict=True):
        scores = (query @ block.T).masked_fill(~seen, float("-inf"))
        now = torch.maximum(most, scores.amax(1, keepdim=True)).detach()
        parts, before = (scores - now).exp(), (most - now).exp()
        total = total * (before if corrected else 1) + parts.sum(1, keepdim=True)
        made, most = made * before + parts @ block, now
    return made / total


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, merged=True)


def build_uncorrected(ctx):
    return program(ctx, merged=False)
