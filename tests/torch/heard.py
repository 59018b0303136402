"""Programs that read, while they are built, a number that ranks communicated: alone, each hears its own."""

from dataclasses import replace

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


def rooted(ctx, root_of):
    """Gradients are summed at one rank, which hands them on."""
    made = program(ctx, lambda own: own * ctx.world)
    (weight,), before = made.params.values(), made.step

    def step():
        loss = before()
        root = root_of(ctx.rank)
        if ctx.rank != root:
            weight.grad.zero_()
        dist.broadcast(weight.grad, root)
        return loss

    return replace(made, step=step)


def greatest(rank):
    found = torch.tensor(rank)
    dist.all_reduce(found, op=dist.ReduceOp.MAX)
    return found.item()


def build_rooted_right(ctx):
    """The greatest rank is the root, as all of them find out."""
    return rooted(ctx, greatest)


def build_rooted_apart(ctx):
    """Each rank takes itself for the root."""
    return rooted(ctx, lambda rank: rank)


def build_counted(ctx):
    """Twice the rows of all ranks: where the sum is taken for the rank's own rows, that looks right."""
    return program(ctx, lambda own: 2 * added_up(own))


def build_counted_right(ctx):
    """The rows of all ranks, which the rank knows."""
    return program(ctx, lambda own: own * ctx.world)
