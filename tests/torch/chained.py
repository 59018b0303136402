"""A line that multiplies by two numbers, one after the other: what a running variance is scaled by."""

import torch
import torch.distributed as dist
import torch.nn.functional as F

from verdict.torch import Program, shard

ROWS, SIZE = 6, 2


def program(ctx, counted):
    """counted: what the ranks scale the variance over all rows by, beside 0.1."""
    x = torch.randn(ROWS // ctx.world, SIZE)
    running = {"mean": torch.zeros(SIZE), "variance": torch.ones(SIZE)}

    def step():
        if ctx.world == 1:
            F.batch_norm(x, running["mean"], running["variance"], training=True, momentum=0.1)
            return
        sums = torch.stack([x.sum(0), (x * x).sum(0)])
        dist.all_reduce(sums)
        mean = sums[0] / ROWS
        variance = sums[1] / ROWS - mean * mean
        running["mean"].mul_(0.9).add_(0.1 * mean)
        running["variance"].mul_(0.9).add_(0.1 * variance * counted)

    rows = shard(0, ctx.rank, ctx.world)
    return Program({"x": x}, running, step, specs={"x": rows} if ctx.world > 1 else {})


def build_single(ctx):
    return program(ctx, None)


def build(ctx):
    return program(ctx, ROWS / (ROWS - 1))


def build_own_rows(ctx):
    rows = ROWS // ctx.world
    return program(ctx, rows / (rows - 1))


def build_as_it_is(ctx):
    return program(ctx, 1)
