"""A fused weight of query, key and value is cut into contiguous pieces.

world 2
place fused
"""

import torch
from torch.nn import functional

from verdict.torch import Program, shard

HIDDEN = 4


def program(ctx, cut):
    x, fused = torch.randn(2, 3), torch.randn(3 * HIDDEN, 3)
    made = {}

    def step():
        q, k, v = functional.linear(x, cut(fused)).chunk(3, -1)
        made["y"] = q * k + v

    return Program({"x": x}, {"fused": fused}, step, lambda: made, specs={"y": shard(1, ctx.rank, ctx.world)})


def build_single(ctx):
    return program(ctx, lambda fused: fused)


def build_right(ctx):
    def cut(fused):
        return torch.cat([part.chunk(ctx.world)[ctx.rank] for part in fused.chunk(3)])

    return program(ctx, cut)


def build(ctx):
    return program(ctx, lambda fused: fused.chunk(ctx.world)[ctx.rank])  # place
