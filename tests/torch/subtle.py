"""Programs that are wrong in a small way; `build_<what>_right` is the twin of `build_<what>`, SINGLES names their
single-device program. The truth of each is what gloo processes on CPUs compute (tests/torch/truth.py).
"""

import torch
import torch.distributed as dist
from torch import nn

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4
SINGLES = {"build_normed": "build_normed_single", "build_reduced": "build_linear_single"}
"""The single-device program of builders that begin so."""


def trained(ctx, model, x, loss_of, reduce=None, loss=None, **more):
    """A step of `model`: `reduce` gets its parameters after the backward pass, where there are other ranks."""

    def step():
        found = loss_of(model, x)
        found.backward()
        if reduce is not None and ctx.world > 1:
            reduce(list(model.parameters()))
        return found

    given = {"specs": {"x": shard(0, ctx.rank, ctx.world)}, "loss": mean(ctx.rank, ctx.world), **more}
    return Program(inputs={"x": x}, params=model, step=step, **({**given, "loss": loss} if loss else given))


def rows_of(ctx, width=SIZE):
    return torch.randn(ROWS // ctx.world, width)


def average(params):
    for param in params:
        dist.all_reduce(param.grad)
        param.grad /= dist.get_world_size()


def squared(model, x):
    return model(x).square().mean()


def linear(ctx, reduce):
    torch.manual_seed(0)
    return trained(ctx, nn.Linear(SIZE, SIZE), rows_of(ctx), squared, reduce)


def build_linear_single(ctx):
    return linear(ctx, None)


def build_reduced(ctx):
    """Gradients are reduced to rank 0, and the others use what is left of theirs."""

    def reduce(params):
        for param in params:
            dist.reduce(param.grad, 0)
            param.grad /= ctx.world

    return linear(ctx, reduce)


def build_reduced_right(ctx):
    def reduce(params):
        for param in params:
            dist.reduce(param.grad, 0)
            param.grad /= ctx.world
            dist.broadcast(param.grad, 0)

    return linear(ctx, reduce)


def normed(norm, x):
    return norm(x).pow(3).mean()


def build_normed_single(ctx):
    torch.manual_seed(0)
    return trained(ctx, nn.BatchNorm1d(SIZE), rows_of(ctx), normed)


def build_normed(ctx):
    """Each rank normalises by its own rows."""
    torch.manual_seed(0)
    return trained(ctx, nn.BatchNorm1d(SIZE), rows_of(ctx), normed, average)


def build_normed_right(ctx):
    """Each rank has all rows of its channels."""
    torch.manual_seed(0)
    part, cut = shard(0, ctx.rank, ctx.world), shard(1, ctx.rank, ctx.world)
    specs = {"x": cut, **dict.fromkeys(("weight", "bias", "running_mean", "running_var"), part)}
    norm, x = nn.BatchNorm1d(SIZE // ctx.world), torch.randn(ROWS, SIZE // ctx.world)

    def reduce(params):
        for param in params:
            param.grad /= ctx.world

    return trained(ctx, norm, x, normed, reduce, specs=specs)
