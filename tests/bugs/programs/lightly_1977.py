"""The statistics of the batch are summed in the loss, and the gradients of the ranks are averaged.

world 2
place weight
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, shard


class Sum(torch.autograd.Function):
    """An all-reduce forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def program(ctx, add, op=None):
    rows = 4 // ctx.world
    x, other = torch.randn(rows, 3), torch.randn(rows, 2)
    model = nn.Linear(3, 2, bias=False)

    def step():
        correlation = add(model(x).t() @ other)
        loss = correlation.square().sum()
        loss.backward()
        if op is not None:
            dist.all_reduce(model.weight.grad, op=op)  # place
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    return Program({"x": x, "other": other}, model, step, specs={"x": part, "other": part})


def build_single(ctx):
    return program(ctx, lambda x: x)


def build_right(ctx):
    return program(ctx, Sum.apply, dist.ReduceOp.SUM)


def build(ctx):
    return program(ctx, Sum.apply, dist.ReduceOp.AVG)
