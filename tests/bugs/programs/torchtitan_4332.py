"""Each rank adds its part of a bias before the sum over the ranks, and the bias' gradient is divided, too.

world 2
place bias
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, shard

TOKENS, HIDDEN, OUT = 3, 4, 2


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


def program(ctx, add, part):
    own = HIDDEN // ctx.world
    x = torch.randn(TOKENS, own)
    weight, bias = nn.Parameter(torch.randn(OUT, own)), nn.Parameter(torch.randn(OUT))

    def step():
        y = add(x @ weight.t() + part(bias))
        loss = y.square().sum()
        loss.backward()
        return loss.detach()

    specs = dict.fromkeys(("x", "weight"), shard(1, ctx.rank, ctx.world))
    return Program({"x": x}, {"weight": weight, "bias": bias}, step, specs=specs)


def build_single(ctx):
    return program(ctx, lambda x: x, lambda bias: bias)


def build_right(ctx):
    return program(ctx, Sum.apply, lambda bias: bias + (bias / ctx.world - bias).detach())


def build(ctx):
    return program(ctx, Sum.apply, lambda bias: bias / ctx.world)  # place
