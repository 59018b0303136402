"""Steps of which one rank bounds what usual numbers do not come to, or leaves out one row of a table. For tests."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, partial, shard

ROWS, SIZE, HIDDEN, TABLE = 4, 3, 4, 9


def clamped(h, ids):
    return h.clamp(-50, 50)


def chosen(h, ids):
    return torch.where(h > 50, 0.0, h)


def saturated(h, ids):
    return functional.relu(h + 30) - 30


def without_last(h, ids):
    return h * (ids < TABLE - 1).view(-1, 1)


def with_all(h, ids):
    return h * (ids < TABLE).view(-1, 1)


def of_some(h, ids):
    return torch.where(h.abs() < 50, h, h + 0.0)


def program(ctx, made, on_one=False):
    a, b, table = (nn.Parameter(torch.randn(n, m)) for n, m in ((SIZE, HIDDEN), (HIDDEN, SIZE), (TABLE, HIDDEN)))
    rows = ROWS // ctx.world
    x, y, ids = torch.randn(rows, SIZE), torch.randn(rows, SIZE), torch.randint(0, TABLE, (rows,))

    def step():
        h = x @ a + table[ids]
        if ctx.world > 1 and (ctx.rank == 1 or not on_one):
            h = made(h, ids)
        loss = (h @ b - y).square().sum() / (ROWS * SIZE)
        loss.backward()
        if ctx.world > 1:
            for weight in (a, b, table):
                dist.all_reduce(weight.grad)
        return loss.detach()

    shares = shard(0, ctx.rank, ctx.world)
    return Program(
        inputs={"x": x, "y": y, "ids": ids},
        params={"a": a, "b": b, "table": table},
        step=step,
        specs={"x": shares, "y": shares, "ids": shares} if ctx.world > 1 else {},
        loss=partial(ctx.rank, ctx.world),
        ranges={"ids": (0, TABLE - 1)},
    )


def build_clamped(ctx):
    return program(ctx, clamped, on_one=True)


def build_chosen(ctx):
    return program(ctx, chosen, on_one=True)


def build_saturated(ctx):
    return program(ctx, saturated, on_one=True)


def build_without_last(ctx):
    return program(ctx, without_last, on_one=True)


def build_with_all(ctx):
    return program(ctx, with_all)


def build_of_some(ctx):
    return program(ctx, of_some)
