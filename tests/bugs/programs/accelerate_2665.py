"""The optimizer was made before FSDP, and holds parameters that nothing reads any more.

world 2
place weight
expect output-missing or wrong-input or operator-differs
"""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from verdict.torch import Program, mean, shard


def program(ctx, make):
    rows = 4 // ctx.world
    x, target = torch.randn(rows, 4), torch.randn(rows, 4)
    model = nn.Linear(4, 4, bias=False)
    sgd = make(model)

    def step():
        loss = nn.functional.mse_loss(model(x), target)
        loss.backward()
        sgd.step()  # place
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": part, "target": part}, mean(ctx.rank, ctx.world)
    return Program({"x": x, "target": target}, model, step, specs=specs, loss=loss)


def optimizer(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


def build_single(ctx):
    return program(ctx, optimizer)


def build_right(ctx):
    def make(model):
        fully_shard(model, mesh=init_device_mesh("cpu", (ctx.world,)))
        return optimizer(model)

    return program(ctx, make)


def build(ctx):
    def make(model):
        early = optimizer(model)
        fully_shard(model, mesh=init_device_mesh("cpu", (ctx.world,)))
        return early

    return program(ctx, make)
