"""The gradient of a norm's weight, which all heads share, is not summed over the ranks that own the heads.

world 2
place gamma
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, partial, shard

TOKENS, HIDDEN, HEADS, SIZE = 2, 3, 2, 4


def program(ctx, finish):
    own = HEADS // ctx.world
    x = torch.randn(TOKENS, HIDDEN)
    query, gamma = nn.Parameter(torch.randn(own * SIZE, HIDDEN)), nn.Parameter(torch.randn(SIZE))

    def step():
        heads = (x @ query.t()).view(TOKENS, own, SIZE)
        normed = nn.functional.rms_norm(heads, (SIZE,), eps=1e-6) * gamma  # place
        loss = normed.square().sum()
        loss.backward()  # place
        finish(gamma)
        return loss.detach()

    specs, loss = {"query": shard(0, ctx.rank, ctx.world)}, partial(ctx.rank, ctx.world)
    return Program({"x": x}, {"query": query, "gamma": gamma}, step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda gamma: None)


def build_right(ctx):
    return program(ctx, lambda gamma: dist.all_reduce(gamma.grad))


def build(ctx):
    return program(ctx, lambda gamma: None)
