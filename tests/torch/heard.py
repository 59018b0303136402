"""Programs that read, while they are built, a number that ranks communicated: alone, each hears its own."""

import torch
import torch.distributed as dist

from verdict.torch import Program, partial, shard

ROWS, SIZE = 8, 4


def program(ctx, count):
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(SIZE, SIZE))
    x = torch.randn(ROWS // ctx.world, SIZE)
    rows = count(len(x))

    def step():
        loss = (x @ weight).square().sum() / rows
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    given = {"inputs": {"x": x}, "params": {"weight": weight}, "specs": specs}
    return Program(step=step, loss=partial(ctx.rank, ctx.world), **given)


def added_up(own):
    rows = torch.tensor(own)
    dist.all_reduce(rows)
    return rows.item()


def build_single(ctx):
    return program(ctx, lambda own: own)


def build_counted(ctx):
    """Twice the rows of all ranks: where the sum is taken for the rank's own rows, that looks right."""
    return program(ctx, lambda own: 2 * added_up(own))


def build_counted_right(ctx):
    """The rows of all ranks, which the rank knows."""
    return program(ctx, lambda own: own * ctx.world)
