"""Gradients are clipped on each rank, and averaged afterwards.

world 2
place weight
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_

from verdict.torch import Program, mean, shard

MOST = 0.1


def program(ctx, *steps):
    rows = 4 // ctx.world
    x, target = torch.randn(rows, 3), torch.randn(rows, 2)
    model = nn.Linear(3, 2, bias=False)

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        for each in steps:
            each(model)
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": part, "target": part}, mean(ctx.rank, ctx.world)
    return Program({"x": x, "target": target}, model, step, specs=specs, loss=loss)


def clip(model):
    clip_grad_norm_(model.parameters(), MOST)  # place


def average(model):
    for param in model.parameters():
        dist.all_reduce(param.grad, op=dist.ReduceOp.AVG)  # place


def build_single(ctx):
    return program(ctx, clip)


def build_right(ctx):
    return program(ctx, average, clip)


def build(ctx):
    return program(ctx, clip, average)
