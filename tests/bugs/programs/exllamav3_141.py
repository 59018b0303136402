"""The norm of the queries is taken over a rank's own heads.

world 2
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, shard

HIDDEN, EPS = 4, 1e-6


def program(ctx, mean_square):
    own = HIDDEN // ctx.world
    x, weight = torch.randn(2, 3), torch.randn(own, 3)
    made = {}

    def step():
        q = functional.linear(x, weight)
        made["normed"] = q * torch.rsqrt(mean_square(q) + EPS)

    part = shard(1, ctx.rank, ctx.world)
    specs = {"weight": shard(0, ctx.rank, ctx.world), "normed": part}
    return Program(inputs={"x": x}, params={"weight": weight}, step=step, outputs=lambda: made, specs=specs)


def build_single(ctx):
    return program(ctx, lambda q: q.square().mean(-1, keepdim=True))


def build_right(ctx):
    def mean_square(q):
        total = q.square().sum(-1, keepdim=True)
        dist.all_reduce(total)
        return total / HIDDEN

    return program(ctx, mean_square)


def build(ctx):
    return program(ctx, lambda q: q.square().mean(-1, keepdim=True))  # place
