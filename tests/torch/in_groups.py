"""Group normalisation of images of some size: in data parallel, and with whole groups of channels on each rank.

verdict torch tests/torch/in_groups.py --world 2
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, partial, shard

BATCH, CHANNELS, GROUPS, SIZE = 4, 16, 4, 6


def rows(ctx, reduced=True):
    """Each rank has some images."""
    weights = {
        "kernel": torch.nn.Parameter(torch.randn(CHANNELS, 3, 3, 3)),
        "gain": torch.nn.Parameter(torch.randn(CHANNELS)),
        "shift": torch.nn.Parameter(torch.randn(CHANNELS)),
    }
    x = torch.randn(BATCH // ctx.world, 3, SIZE, SIZE)

    def step():
        made = functional.conv2d(x, weights["kernel"], padding=1)
        made = functional.silu(functional.group_norm(made, GROUPS, weights["gain"], weights["shift"]))
        loss = made.square().mean()
        loss.backward()
        if ctx.world > 1:
            for weight in list(weights.values())[: None if reduced else 2]:
                dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    return Program({"x": x}, weights, step, specs={"x": shard(0, ctx.rank, ctx.world)}, loss=mean(ctx.rank, ctx.world))


def channels(ctx, groups):
    """Each rank has some channels, in so many groups."""
    own = CHANNELS // ctx.world
    weights = {"mix": torch.nn.Parameter(torch.randn(4, own)), "gain": torch.nn.Parameter(torch.randn(own))}
    x, target = torch.randn(2, SIZE, SIZE, 4), torch.randn(2, SIZE, SIZE, own)

    def step():
        made = functional.group_norm((x @ weights["mix"]).permute(0, 3, 1, 2), groups)  # normed
        loss = (made.permute(0, 2, 3, 1) * weights["gain"] - target).square().sum()
        loss.backward()
        return loss

    cuts = {"mix": 1, "gain": 0, "target": 3}
    specs = {name: shard(dim, ctx.rank, ctx.world) for name, dim in cuts.items()}
    return Program({"x": x, "target": target}, weights, step, specs=specs, loss=partial(ctx.rank, ctx.world))


def build_single(ctx):
    return rows(ctx)


def build(ctx):
    return rows(ctx)


def build_shift(ctx):
    """Wrong: the gradient of the shift is that of each rank's own images."""
    return rows(ctx, reduced=False)


def build_channels_single(ctx):
    return channels(ctx, GROUPS)


def build_channels(ctx):
    return channels(ctx, GROUPS // ctx.world)


def build_smaller(ctx):
    """Wrong: each rank puts its channels into as many groups as there are of all."""
    return channels(ctx, GROUPS)
