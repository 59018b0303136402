"""The forward pass goes around DistributedDataParallel, and its reducer is never armed.

world 2
tensors real
place up or down
"""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8, bias=False)
        self.down = nn.Linear(8, 4, bias=False)

    def forward(self, x):
        return self.down(functional.relu(self.up(x)))


def program(ctx, wrap, called):
    rows = 4 // ctx.world
    x, target = torch.randn(rows, 4), torch.randn(rows, 4)
    model = Model()
    wrapped = wrap(model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = functional.mse_loss(called(wrapped)(x), target)
        loss.backward()  # place
        sgd.step()  # place
        return loss

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": part, "target": part}, mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x, "target": target}, params=model, step=step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda model: model, lambda model: model)


def build_right(ctx):
    return program(ctx, DistributedDataParallel, lambda wrapped: wrapped)


def build(ctx):
    return program(ctx, DistributedDataParallel, lambda wrapped: wrapped.module)
