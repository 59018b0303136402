"""The log probability of the target is summed over vocabulary shards by a collective without a gradient.

world 2
missed place
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, shard

TOKENS, HIDDEN, WORDS = 2, 3, 4


class Sum(torch.autograd.Function):
    """An all-reduce forward, the identity backward: every rank goes on with the same value."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class SumBoth(Sum):
    """An all-reduce forward and backward: what every rank goes on with differs."""

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


def plain(x):
    summed = x.detach().clone()
    dist.all_reduce(summed)  # place
    return x + (summed - x.detach())  # place


def program(ctx, add, normalise):
    own = WORDS // ctx.world
    x, target = torch.randn(TOKENS, HIDDEN), torch.randn(TOKENS, own)
    words = nn.Parameter(torch.randn(own, HIDDEN))

    def step():
        logits = x @ words.t()
        total = normalise(logits.exp().sum(-1, keepdim=True))
        loss = -add((target * (logits - total.log())).sum())
        loss.backward()
        return loss.detach()

    specs = {"target": shard(1, ctx.rank, ctx.world), "words": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x, "target": target}, {"words": words}, step, specs=specs)


def build_single(ctx):
    return program(ctx, lambda x: x, lambda x: x)


def build_right(ctx):
    return program(ctx, Sum.apply, SumBoth.apply)


def build(ctx):
    return program(ctx, Sum.apply, plain)
