"""A contiguous copy is reduced in place, and the gradient that is handed on is the one before.

world 2
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, partial, shard

HIDDEN, OUT, TOKENS = 4, 6, 3


class Right(torch.autograd.Function):
    """The identity forward, an all-reduce backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous()
        dist.all_reduce(grad)
        return grad


class Wrong(Right):
    @staticmethod
    def backward(ctx, grad):
        dist.all_reduce(grad.contiguous())  # place
        return grad


def program(ctx, enter):
    x, target = torch.randn(TOKENS, HIDDEN), torch.randn(OUT // ctx.world, TOKENS)
    below, above = nn.Linear(HIDDEN, HIDDEN, bias=False), nn.Linear(HIDDEN, OUT // ctx.world, bias=False)

    def step():
        hidden = enter(below(x).t())
        y = above.weight @ hidden
        loss = functional.mse_loss(y, target, reduction="sum")
        loss.backward()
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    specs = {"target": part, "above": part}
    loss = partial(ctx.rank, ctx.world)
    params = {"below": below.weight, "above": above.weight}
    return Program(inputs={"x": x, "target": target}, params=params, step=step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda x: x)


def build_right(ctx):
    return program(ctx, Right.apply)


def build(ctx):
    return program(ctx, Wrong.apply)
