"""The weights of norms are clipped on tensor parallel rank 0 only.

world 2
place gamma
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, partial, shard

TOKENS, HIDDEN, OUT, MOST, EPS = 3, 2, 4, 0.1, 1e-6


class Enter(torch.autograd.Function):
    """The identity forward, an all-reduce backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


def program(ctx, enter, add, clipped):
    x = torch.randn(TOKENS, HIDDEN)
    gamma, weight = nn.Parameter(torch.randn(HIDDEN)), nn.Parameter(torch.randn(OUT // ctx.world, HIDDEN))

    def step():
        loss = (enter(x * gamma) @ weight.t()).square().sum()
        loss.backward()
        with torch.no_grad():
            norm = (add(weight.grad.square().sum()) + gamma.grad.square().sum()).sqrt()
            factor = (MOST / (norm + EPS)).clamp(max=1.0)
            for param in (weight, gamma):
                if param is weight or clipped:
                    param.grad.mul_(factor)  # place
                param.sub_(param.grad, alpha=0.1)  # place
        return loss.detach()

    specs, loss = {"weight": shard(0, ctx.rank, ctx.world)}, partial(ctx.rank, ctx.world)
    return Program({"x": x}, {"gamma": gamma, "weight": weight}, step, specs=specs, loss=loss)


def total(own):
    dist.all_reduce(own)
    return own


def build_single(ctx):
    return program(ctx, lambda x: x, lambda own: own, clipped=True)


def build_right(ctx):
    return program(ctx, Enter.apply, total, clipped=True)


def build(ctx):
    return program(ctx, Enter.apply, total, clipped=ctx.rank == 0)
