"""Shards of a weight are summed over the ranks as if they were replicas.

world 2
place weight
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, partial, shard


def program(ctx, synchronise=None):
    x = torch.randn(3, 2)
    weight = nn.Parameter(torch.randn(4 // ctx.world, 2))

    def step():
        loss = (x @ weight.t()).square().sum()
        loss.backward()
        with torch.no_grad():
            weight.sub_(weight.grad, alpha=0.1)
            if synchronise is not None:
                synchronise(weight)  # place
        return loss.detach()

    specs, loss = {"weight": shard(0, ctx.rank, ctx.world)}, partial(ctx.rank, ctx.world)
    return Program({"x": x}, {"weight": weight}, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx)


def build_right(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, dist.all_reduce)
