"""Functional collectives whose input is written over: before what they make is used (wrong), and after (right).

Gloo processes of which one is late show it (what is gathered is zero then): both ranks read while the other writes.
"""

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from verdict.torch import Program, partial, shard

SIZE = 4


def program(ctx, reduce=None):
    torch.manual_seed(0)
    weight, x = torch.nn.Parameter(torch.randn(SIZE)), torch.randn(4 // ctx.world, SIZE)

    def step():
        loss = (x @ weight).square().sum()
        loss.backward()
        if reduce is not None:
            weight.grad = reduce(weight.grad.clone(), dist.group.WORLD)
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program(
        inputs={"x": x}, params={"weight": weight}, step=step, specs=specs, loss=partial(ctx.rank, ctx.world)
    )


def build_single(ctx):
    return program(ctx)


def both(made):
    return made[:SIZE] + made[SIZE:]


def build_gathered(ctx):
    def reduce(grad, group):
        made = functional.all_gather_tensor(grad, 0, group)
        grad.zero_()
        return both(made)

    return program(ctx, reduce)


def build_gathered_right(ctx):
    def reduce(grad, group):
        made = both(functional.all_gather_tensor(grad, 0, group))
        grad.zero_()
        return made

    return program(ctx, reduce)


def build_exchanged(ctx):
    def reduce(grad, group):
        given = grad.repeat(2)
        made = functional.all_to_all_single(given, None, None, group).view(-1)
        given.zero_()
        return both(made)

    return program(ctx, reduce)


def build_exchanged_right(ctx):
    def reduce(grad, group):
        given = grad.repeat(2)
        made = functional.wait_tensor(functional.all_to_all_single(given, None, None, group))
        given.zero_()
        return both(made)

    return program(ctx, reduce)


def build_copied_right(ctx):
    """An all-reduce begins with a copy."""

    def reduce(grad, group):
        made = functional.all_reduce(grad, "sum", group)
        grad.zero_()
        return made * 1.0

    return program(ctx, reduce)
