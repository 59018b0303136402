"""Communication of tensors whose dimensions lie in another order, of several at once, and tensors of unequal parts."""

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _coalescing_manager

from verdict.torch import Program, mean, shard

ROWS, WIDE, SIZE = 8, 6, 4


def program(ctx, reduce=lambda grads, rank: None, wide=WIDE, hidden=torch.tanh):
    torch.manual_seed(0)
    model, x = torch.nn.Linear(SIZE, wide), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = hidden(model(x)).square().mean()
        loss.backward()
        if ctx.world > 1:
            reduce([weight.grad for weight in model.parameters()], ctx.rank)
            for weight in model.parameters():
                weight.grad /= ctx.world
        return loss

    given = {"inputs": {"x": x}, "params": model, "specs": {"x": shard(0, ctx.rank, ctx.world)}}
    return Program(step=step, loss=mean(ctx.rank, ctx.world), **given)


def each(turned):
    def reduce(grads, rank):
        for grad in grads:
            dist.all_reduce(grad.t() if grad.dim() == 2 and turned(rank) else grad)

    return reduce


def build_single(ctx):
    return program(ctx)


def build_square_single(ctx):
    return program(ctx, wide=SIZE)


def build_turned(ctx):
    return program(ctx, each(lambda rank: True))


def build_square_turned(ctx):
    return program(ctx, each(lambda rank: True), SIZE)


def build_square_one_turned(ctx):
    """The same memory, seen in another order."""
    return program(ctx, each(lambda rank: rank == 0), SIZE)


def build_square_one_moved(ctx):
    """Elements meet where they lie, not where they stand."""

    def reduce(grads, rank):
        held = grads[0].t().contiguous().t() if rank == 0 else grads[0]
        dist.all_reduce(held)
        grads[0].copy_(held)
        dist.all_reduce(grads[1])

    return program(ctx, reduce, SIZE)


def build_turned_twice(ctx):
    def reduce(grads, rank):
        each(lambda rank: True)(grads, rank)
        dist.all_reduce(grads[0].t())

    return program(ctx, reduce)


def build_columns(ctx):
    """With gaps between its elements."""

    def reduce(grads, rank):
        each(lambda rank: False)(grads[1:], rank)
        for column in grads[0].unbind(1):
            dist.all_reduce(column)

    return program(ctx, reduce)


def build_broadcast(ctx):
    def reduce(grads, rank):
        each(lambda rank: False)(grads, rank)
        dist.broadcast(grads[0].t(), 1)

    return program(ctx, reduce)


def together(count):
    def reduce(grads, rank):
        with _coalescing_manager():
            for grad in grads[:count]:
                dist.all_reduce(grad)

    return reduce


def build_together(ctx):
    return program(ctx, together(2))


def build_together_one_left(ctx):
    return program(ctx, together(1))


def begun(wait):
    """All begun before the last of them is read, by which the first is changed."""

    def reduce(grads, rank):
        works = [dist.all_reduce(grad, async_op=True) for grad in grads]
        for work in works if wait else ():
            work.wait()
        grads[1].add_(grads[1].clone()).mul_(0.5)

    return reduce


def build_begun(ctx):
    return program(ctx, begun(True))


def build_begun_read(ctx):
    return program(ctx, begun(False))


def unequal(layout):
    def hidden(found):
        parts = torch.nested.as_nested_tensor([found[:1], found[1:]], layout=layout)
        return torch.tanh(torch.cat(parts.unbind()))

    return hidden


def build_unequal(ctx):
    return program(ctx, each(lambda rank: False), hidden=unequal(torch.jagged))


def build_unequal_nested(ctx):
    return program(ctx, each(lambda rank: False), hidden=unequal(torch.strided))
