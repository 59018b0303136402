"""A token that is padding, in the middle of a vocabulary whose table is too large for proofs at its own size: the last
rank takes a neighbour of it, another one besides, or none for padding. Of few tokens chance draws it seldom.
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, shard

VOCABULARY, WIDTH, ROWS, LENGTH, PADDING = 320, 320, 2, 2, 100


def counts(ids):
    return (ids != PADDING).float()


def equal(ids):
    return (~(ids == PADDING)).float()


def neighbour(ids):
    return (ids != PADDING + 1).float()


def two(ids):
    return ((ids != PADDING) & (ids != 2 * PADDING)).float()


def none(ids):
    return torch.ones(ids.shape)


def program(rows, counted, average=False, **more):
    ids, target = torch.randint(VOCABULARY, (rows, LENGTH)), torch.randn(rows, LENGTH, WIDTH)
    weights = {"table": torch.randn(VOCABULARY, WIDTH), "out": torch.randn(WIDTH, WIDTH)}
    weights = {name: torch.nn.Parameter(weight) for name, weight in weights.items()}

    def step():
        made = torch.tanh(functional.embedding(ids, weights["table"]) @ weights["out"])
        each = functional.mse_loss(made, target, reduction="none").mean(-1)
        loss = (each * counted(ids)).mean()
        loss.backward()
        for weight in weights.values() if average else ():
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    ranges = {"ids": (0, VOCABULARY - 1)}
    return Program(inputs={"ids": ids, "target": target}, params=weights, step=step, ranges=ranges, **more)


def build_single(ctx):
    return program(ROWS, counts)


def parallel(ctx, last):
    rows = shard(0, ctx.rank, ctx.world)
    specs, loss = {"ids": rows, "target": rows}, mean(ctx.rank, ctx.world)
    return program(ROWS // ctx.world, last if ctx.rank == ctx.world - 1 else counts, True, specs=specs, loss=loss)


def build_counts(ctx):
    return parallel(ctx, counts)


def build_equal(ctx):
    return parallel(ctx, equal)


def build_neighbour(ctx):
    return parallel(ctx, neighbour)


def build_two(ctx):
    return parallel(ctx, two)


def build_none(ctx):
    return parallel(ctx, none)
