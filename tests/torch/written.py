"""Numbers as torch holds them: decimals rounded to 32 bits beside what was written, and sums of 8 bits over ranks."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4


def program(ctx, normalized, count=None):
    torch.manual_seed(0)
    weight, x = torch.nn.Parameter(torch.randn(SIZE, SIZE)), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = (normalized(x @ weight) * weight[0]).mean()
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
            weight.grad /= ctx.world
            if count is not None:
                counted = torch.tensor([count], dtype=torch.uint8)
                dist.all_reduce(counted)
                weight.grad += counted
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    given = {"inputs": {"x": x}, "params": {"weight": weight}, "specs": specs}
    return Program(step=step, loss=mean(ctx.rank, ctx.world), **given)


def by_torch(x):
    """Whose eps is the float of 32 bits next to a millionth."""
    return functional.rms_norm(x, (SIZE,), eps=1e-6)


def by_hand(eps, scale):
    return lambda x: scale * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * 10


def build_single(ctx):
    return program(ctx, by_torch)


def build_right(ctx):
    return program(ctx, by_hand(1e-6, torch.tensor(0.1)))


def build_eps(ctx):
    return program(ctx, by_hand(1.00001e-6, torch.tensor(0.1)))


def build_scale(ctx):
    return program(ctx, by_hand(1e-6, torch.tensor(0.100001)))


def build_wrapped_right(ctx):
    """128 and 128 are 0 in 8 bits."""
    return program(ctx, by_torch, 128)


def build_wrapped(ctx):
    return program(ctx, by_torch, 129)
