"""Gradients that are clipped at a norm that those of usual inputs do not come to, under tensor parallelism by hand."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.utils import get_total_norm

from verdict.torch import Program, shard

ROWS, SIZE, MOST = 3, 4, 1.0


def program(ctx, reduced="all"):
    """The columns of one weight and the rows of the next are divided. reduced: of which weights squares are summed."""
    size = SIZE // ctx.world
    up, down, bias = (nn.Parameter(torch.randn(shape) / 4) for shape in ((size, 2), (2, size), (2,)))
    x, y = torch.randn(ROWS, 2), torch.randn(ROWS, 2)

    def step():
        z = torch.tanh(x @ up.T) @ down.T
        if ctx.world > 1:
            z = z + (dist.nn.functional.all_reduce(z.detach()) - z.detach())
        loss = functional.mse_loss(z + bias, y)
        loss.backward()
        squares = up.grad.square().sum() + down.grad.square().sum()
        rest = bias.grad.square().sum()
        if reduced == "twice":
            squares, rest = squares + rest, 0
        if ctx.world > 1 and reduced != "none":
            dist.all_reduce(squares)
        share = (MOST / ((squares + rest).sqrt() + 1e-6)).clamp(max=1.0)
        for weight in (up, down, bias):
            weight.grad *= share
        return loss.detach()

    specs = {"up": shard(0, ctx.rank, ctx.world), "down": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x, "y": y}, params={"up": up, "down": down, "bias": bias}, step=step, specs=specs)


def build(ctx):
    return program(ctx)


def build_own_norm(ctx):
    return program(ctx, "none")


def build_counted_twice(ctx):
    return program(ctx, "twice")


def divided(ctx, whole=True):
    """What is divided by the norm of both: columns of x, and a sum of which each rank has a part, as of its own rows.

    whole: whether the norm is that of all of it.
    """
    x, w, made = torch.randn(SIZE, SIZE), nn.Parameter(torch.randn(SIZE)), {}
    mine = slice(ctx.rank * SIZE // ctx.world, (ctx.rank + 1) * SIZE // ctx.world)

    def step():
        loss = (x * w).sum()
        loss.backward()
        columns, rows = x[:, mine] * 2, x[mine].exp().sum(0)
        if ctx.world > 1 and whole:
            dist.all_reduce(rows)
            squares = columns.square().sum()
            dist.all_reduce(squares)
            norm = (squares + rows.square().sum()).sqrt()
        else:
            norm = get_total_norm([columns, rows])  # place
        columns, rows = columns / norm, rows / norm
        if ctx.world > 1 and not whole:
            dist.all_reduce(rows)
        made.update(columns=columns, rows=rows)
        return loss.detach()

    specs = {"columns": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params={"w": w}, step=step, outputs=lambda: made, specs=specs)


def build_divided(ctx):
    return divided(ctx)


def build_divided_by_own(ctx):
    return divided(ctx, whole=False)
