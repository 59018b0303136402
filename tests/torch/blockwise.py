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


def zigzag(ctx, attend):
    """Rows 0 and 3 on one rank, 1 and 2 on the other: keys of the other rank's are masked for one row alone."""
    x, weight = torch.randn(ROWS, DIM), torch.nn.Parameter(torch.randn(DIM, DIM))
    rows = torch.tensor([[0, 3], [1, 2]]) if ctx.world > 1 else torch.arange(ROWS)[None]
    keys = rows.roll(-ctx.rank, 0).flatten()

    def step():
        scores = (x[rows[ctx.rank]] @ x[keys].T).masked_fill(rows[ctx.rank][:, None] < keys, float("-inf"))
        loss = (attend(scores, x[keys]) @ weight).square().sum()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
        return loss

    loss = {"loss": partial(ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"weight": weight}, step, **loss)


def at_once(scores, values):
    return scores.softmax(1) @ values


def by_levels(scores, values, corrected=True):
    """Each block's own softmax, which is no number for a row that it masks as a whole, and is left out there."""
    made, level = torch.zeros(len(scores), DIM), torch.full((len(scores), 1), float("-inf"))
    for block, value in zip(scores.chunk(2, 1), values.chunk(2), strict=True):
        own = block.logsumexp(1, keepdim=True)
        part = torch.where(own == float("-inf"), 0.0, (block - own).exp() @ value)
        now = torch.logaddexp(level, own)
        made = (made * (level - now).exp() if corrected else made) + part * (own - now).exp()
        level = now
    return made


def uncorrected_levels(scores, values):
    return by_levels(scores, values, corrected=False)


def build_zigzag_single(ctx):
    return zigzag(ctx, at_once)


def build_zigzag(ctx):
    return zigzag(ctx, by_levels)


def build_zigzag_uncorrected(ctx):
    return zigzag(ctx, uncorrected_levels)
