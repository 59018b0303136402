"""A model under DistributedDataParallel with a weight that the step does not use: it waits for its gradient."""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.spare = nn.Linear(SIZE, SIZE), nn.Parameter(torch.zeros(SIZE))

    def forward(self, x):
        return self.used(x)


def program(ctx, trained=True, **how):
    model = Model()
    model.spare.requires_grad_(trained)
    batch = {name: torch.randn(ROWS // ctx.world, SIZE) for name in ("x", "target")}
    wrapped = DistributedDataParallel(model, **how) if ctx.world > 1 else model

    def step():
        loss = functional.mse_loss(wrapped(batch["x"]), batch["target"])
        loss.backward()
        return loss

    specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
    return Program(inputs=batch, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build_waits(ctx):
    return program(ctx)


def build_looks(ctx):
    return program(ctx, find_unused_parameters=True)


def build_frozen_single(ctx):
    return program(ctx, trained=False)


def build_frozen(ctx):
    return program(ctx, trained=False)
