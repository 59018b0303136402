"""Each rank divides by its own number of valid tokens, and gradients are averaged.

world 2
place weight
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, mean, shard


def program(ctx, tokens):
    rows = 4 // ctx.world
    x, valid = torch.randn(rows, 3), torch.rand(rows, 1)
    model = nn.Linear(3, 1, bias=False)

    def step():
        total = (model(x).square() * valid).sum()
        loss = total / tokens(valid.sum())
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(model.weight.grad, op=dist.ReduceOp.AVG)
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": part, "valid": part}, mean(ctx.rank, ctx.world)
    return Program({"x": x, "valid": valid}, model, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda own: own)


def build_right(ctx):
    def tokens(own):
        dist.all_reduce(own)
        return own / ctx.world

    return program(ctx, tokens)


def build(ctx):
    return program(ctx, lambda own: own)  # place
