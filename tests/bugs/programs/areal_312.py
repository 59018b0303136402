"""The clipping norm is that of a rank's own shard of the gradient.

world 2
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, mean, shard

ROWS, HIDDEN, OUT, MOST, EPS = 4, 3, 4, 0.1, 1e-6


class Gather(torch.autograd.Function):
    """A rank's rows of a weight become the whole; gradients are averaged and cut."""

    @staticmethod
    def forward(ctx, own):
        whole = own.new_empty(own.shape[0] * dist.get_world_size(), *own.shape[1:])
        dist.all_gather_into_tensor(whole, own)
        return whole

    @staticmethod
    def backward(ctx, grad):
        own = grad.new_empty(grad.shape[0] // dist.get_world_size(), *grad.shape[1:])
        dist.reduce_scatter_tensor(own, grad.contiguous(), op=dist.ReduceOp.AVG)
        return own


def program(ctx, gather, square):
    rows = ROWS // ctx.world
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, OUT)
    weight = nn.Parameter(torch.randn(OUT // ctx.world, HIDDEN))

    def step():
        loss = nn.functional.mse_loss(x @ gather(weight).t(), target)
        loss.backward()
        with torch.no_grad():
            norm = square(weight.grad.square().sum()).sqrt()  # place
            weight.grad.mul_((MOST / (norm + EPS)).clamp(max=1.0))
            weight.sub_(weight.grad, alpha=0.1)
        return loss.detach()

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = dict.fromkeys(("x", "target", "weight"), part), mean(ctx.rank, ctx.world)
    return Program({"x": x, "target": target}, {"weight": weight}, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda weight: weight, lambda own: own)


def build_right(ctx):
    def square(own):
        dist.all_reduce(own)
        return own

    return program(ctx, Gather.apply, square)


def build(ctx):
    return program(ctx, Gather.apply, lambda own: own)
