"""Rows of a batch over their norms, with zeros in the place of what has a norm of zero. For tests."""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 3


def eq(quotient, norm):
    return quotient.masked_fill(norm == 0, 0.0)


def where(quotient, norm):
    return torch.where(norm > 0, quotient, 0.0)


def one(quotient, norm):
    return quotient.masked_fill(norm == 0, 1.0)


def less(quotient, norm):
    return quotient.masked_fill(norm < 1e-3, 0.0)


def none(quotient, norm):
    return quotient


def program(ctx, masked, reduces=True):
    def made(x, w):
        z = torch.tanh(x @ w)
        norm = torch.linalg.vector_norm(z.detach(), dim=1, keepdim=True)
        return torch.tanh(masked(z / norm, norm) @ w)

    return trained(ctx, made, reduces)


def trained(ctx, made, reduces=True):
    w = nn.Parameter(torch.randn(SIZE, SIZE))
    x, y = torch.randn(ROWS // ctx.world, SIZE), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = (made(x, w) - y).square().mean()
        loss.backward()
        if ctx.world > 1 and reduces:
            dist.all_reduce(w.grad)
            w.grad /= ctx.world
        return loss.detach()

    specs = {"x": shard(0, ctx.rank, ctx.world), "y": shard(0, ctx.rank, ctx.world)}
    return Program(inputs={"x": x, "y": y}, params={"w": w}, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_eq(ctx):
    return program(ctx, eq)


def build_where(ctx):
    return program(ctx, where)


def build_alone(ctx):
    return program(ctx, eq, reduces=False)


def build_one(ctx):
    return program(ctx, one if ctx.world > 1 else eq)


def build_less(ctx):
    return program(ctx, less if ctx.world > 1 else eq)


def build_none(ctx):
    return program(ctx, none if ctx.world > 1 else eq)


def safe(z, total):
    """Zeros where a row is zero, and no division by zero before that, so that the gradient is a number, too."""
    return torch.where(total > 0, z / torch.where(total > 0, total, 1.0), 0.0)


def unsafe(z, total):
    return torch.where(total > 0, z / total, 0.0)


def ones(z, total):
    return torch.where(total > 0, z / torch.where(total > 0, total, 1.0), 1.0)


def squared(ctx, divided):
    def made(x, w):
        z = x @ w
        return divided(z, z.square().sum(1, keepdim=True))

    return trained(ctx, made)


def build_safe(ctx):
    return squared(ctx, safe)


def build_unsafe(ctx):
    return squared(ctx, unsafe if ctx.world > 1 else safe)


def build_ones(ctx):
    return squared(ctx, ones if ctx.world > 1 else safe)
