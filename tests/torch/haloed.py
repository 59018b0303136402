"""Images that are cut along their height: each rank gets the row above its own from the rank before, by an all_gather.

verdict torch tests/torch/haloed.py --world 2
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, shard

HEIGHT, WIDTH = 8, 4


def above(x, how):
    """The row above a rank's rows, of zeros above the first: what all ranks gather lies along another dimension."""
    rank, world = dist.get_rank(), dist.get_world_size()
    pieces = [torch.empty_like(x) for _ in range(world)]
    dist.all_gather(pieces, x)  # gathered
    row = pieces[rank - 1][:, :, 0 if how == "first" else -1].unsqueeze(2)
    return torch.cat([row if rank and how != "zeros" else torch.zeros_like(row), x], 2)  # joined


def program(ctx, how="single", pool=functional.max_pool2d):
    x = torch.randn(1, 1, HEIGHT // ctx.world, WIDTH)
    weights = {"kernel": torch.nn.Parameter(torch.randn(2, 1, 3, 3))}

    def step():
        rows = functional.pad(x, (0, 0, 1, 0)) if how == "single" else above(x, how)
        made = functional.conv2d(functional.pad(rows, (1, 1)), weights["kernel"], stride=(2, 1))
        loss = pool(made, 2).square().mean()
        loss.backward()
        if how != "single":
            dist.all_reduce(weights["kernel"].grad, op=dist.ReduceOp.AVG)
        return loss

    return Program({"x": x}, weights, step, specs={"x": shard(2, ctx.rank, ctx.world)}, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, "halo")


def build_zeros(ctx):
    """Wrong: the row above is of zeros on all ranks, and what was gathered is not used."""
    return program(ctx, "zeros")


def build_first(ctx):
    """Wrong: the first row of the rank before is taken for its last one."""
    return program(ctx, "first")


def pooled(ctx, how="single", edge=float("-inf")):
    """Windows of pooling that overlap: above the first rank's rows is what pads the single device's, minus infinity."""
    x = torch.randn(1, 1, HEIGHT // ctx.world, WIDTH)
    weights = {"kernel": torch.nn.Parameter(torch.randn(2, 1, 1, 1))}

    def step():
        rows = functional.conv2d(x if how == "single" else above(x, how), weights["kernel"])
        if how != "single" and not ctx.rank:
            rows = torch.cat([torch.full_like(rows[:, :, :1], edge), rows[:, :, 1:]], 2)
        loss = functional.max_pool2d(rows, 3, 2, (1, 1) if how == "single" else (0, 1)).square().mean()
        loss.backward()
        if how != "single":
            dist.all_reduce(weights["kernel"].grad, op=dist.ReduceOp.AVG)
        return loss

    return Program({"x": x}, weights, step, specs={"x": shard(2, ctx.rank, ctx.world)}, loss=mean(ctx.rank, ctx.world))


def build_pooled_single(ctx):
    return pooled(ctx)


def build_pooled(ctx):
    return pooled(ctx, "halo")


def build_pooled_first(ctx):
    """Wrong: the first row of the rank before is taken for its last one."""
    return pooled(ctx, "first")


def build_pooled_zeros(ctx):
    """Wrong: zeros lie above the first row."""
    return pooled(ctx, "halo", 0.0)
