"""A row parallel layer adds its bias on every rank, before the sum over the ranks.

world 2
place bias
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, shard

FEATURES, OUT = 4, 3


def program(ctx, forward):
    columns = FEATURES // ctx.world
    layer = nn.Linear(columns, OUT)
    x = torch.randn(2, columns)
    layer.requires_grad_(False)
    made = {}

    def step():
        made["y"] = forward(layer, x)

    specs = {"x": shard(1, ctx.rank, ctx.world), "weight": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=layer, step=step, outputs=lambda: made, specs=specs)


def build_single(ctx):
    return program(ctx, lambda layer, x: functional.linear(x, layer.weight, layer.bias))


def build_right(ctx):
    def forward(layer, x):
        y = functional.linear(x, layer.weight)
        dist.all_reduce(y)
        return y + layer.bias

    return program(ctx, forward)


def build(ctx):
    def forward(layer, x):
        y = functional.linear(x, layer.weight, layer.bias)  # place
        dist.all_reduce(y)  # place
        return y

    return program(ctx, forward)
