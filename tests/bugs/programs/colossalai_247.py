"""With gradient accumulation, gradients that are reduced already are reduced again.

world 2
place weight
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, partial, shard

STEPS = 2


def program(ctx, always):
    rows = 4 // ctx.world
    inputs = {f"x{number}": torch.randn(rows, 3) for number in range(STEPS)}
    model = nn.Linear(3, 1, bias=False)

    def step():
        total = 0.0
        for number, x in enumerate(inputs.values()):
            loss = model(x).square().sum()
            loss.backward()
            if ctx.world > 1 and (always or number == STEPS - 1):
                dist.all_reduce(model.weight.grad)  # place
            total = total + loss.detach()
        return total

    specs, loss = dict.fromkeys(inputs, shard(0, ctx.rank, ctx.world)), partial(ctx.rank, ctx.world)
    return Program(inputs, model, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, always=False)


def build_right(ctx):
    return program(ctx, always=False)


def build(ctx):
    return program(ctx, always=True)
