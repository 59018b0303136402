"""Ranks that share a graph hold the same loss, and the mean over all ranks is taken of their parts of its gradient.

world 2
tensors real
place weight
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, shard

NODES, HIDDEN = 4, 3


class Gather(torch.autograd.Function):
    """All ranks' nodes; of the gradient a rank's own, times `factor`."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, x.contiguous())
        return torch.cat(rows)

    @staticmethod
    def backward(ctx, grad):
        return grad.chunk(dist.get_world_size())[dist.get_rank()] * ctx.factor, None  # place


def program(ctx, wrap, gather):
    x = torch.randn(NODES // ctx.world, HIDDEN)
    model = nn.Linear(HIDDEN, HIDDEN, bias=False)
    wrapped = wrap(model)

    def step():
        nodes = gather(wrapped(x))
        loss = nodes.sum(0).square().sum()
        loss.backward()  # place
        return loss.detach()

    return Program({"x": x}, model, step, specs={"x": shard(0, ctx.rank, ctx.world)})


def build_single(ctx):
    return program(ctx, lambda model: model, lambda x: x)


def build_right(ctx):
    return program(ctx, DistributedDataParallel, lambda x: Gather.apply(x, ctx.world))


def build(ctx):
    return program(ctx, DistributedDataParallel, lambda x: Gather.apply(x, 1))
