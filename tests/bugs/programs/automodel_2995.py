"""Routing probabilities are gathered by a collective that has no gradient.

world 2
place router
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, partial, shard

TOKENS, HIDDEN, EXPERTS = 4, 3, 2


class Gather(torch.autograd.Function):
    """All ranks' rows; the gradients of all ranks are summed and cut."""

    @staticmethod
    def forward(ctx, x):
        rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(rows, x.contiguous())
        return torch.cat(rows)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()]


def plain(x):
    rows = [torch.empty_like(x) for _ in range(dist.get_world_size())]
    dist.all_gather(rows, x.detach())  # place
    return torch.cat(rows)  # place


def program(ctx, gather):
    rows, own = TOKENS // ctx.world, EXPERTS // ctx.world
    x = torch.randn(rows, HIDDEN)
    router, experts = nn.Parameter(torch.randn(EXPERTS, HIDDEN)), nn.Parameter(torch.randn(own, HIDDEN))

    def step():
        logits = x @ router.t()
        mine = slice(ctx.rank * own, (ctx.rank + 1) * own)
        probabilities = gather(torch.softmax(logits, -1))[:, mine]
        outputs = Gather.apply(x) @ experts.t() if ctx.world > 1 else x @ experts.t()
        loss = (probabilities * outputs).sum() + logits.square().sum()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(router.grad)
        return loss.detach()

    specs = {"x": shard(0, ctx.rank, ctx.world), "experts": shard(0, ctx.rank, ctx.world)}
    loss = partial(ctx.rank, ctx.world)
    return Program({"x": x}, {"router": router, "experts": experts}, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda x: x)


def build_right(ctx):
    return program(ctx, Gather.apply)


def build(ctx):
    return program(ctx, plain)
