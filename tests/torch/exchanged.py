"""What all_to_all_single and reductions make of rows, memory of other shapes and truth values. For tests."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, piece, shard

ROWS, SIZES = 4, (1, 0, 3)


def program(ctx, reduced=None):
    """A weight in uneven pieces, of which a rank may have none."""
    sizes = SIZES if ctx.world > 1 else (ROWS,)
    own, before = sizes[ctx.rank], sum(sizes[: ctx.rank])
    weight = torch.nn.Parameter(torch.randn(own, 2))
    x, target = torch.randn(6 // ctx.world, 2), torch.randn(6 // ctx.world, ROWS)

    def step():
        pieces = [torch.empty(size, 2) for size in sizes]
        pieces[ctx.rank].copy_(weight.detach())
        for rank, held in enumerate(pieces if ctx.world > 1 else ()):
            if len(held):
                dist.broadcast(held, rank)
        whole = torch.cat(pieces).requires_grad_()
        loss = functional.mse_loss(x @ whole.T, target)
        loss.backward()
        parts = whole.grad
        if ctx.world > 1:
            parts = torch.empty(own * ctx.world, 2)
            dist.all_to_all_single(parts, whole.grad, [own] * ctx.world, list(sizes))
        weight.grad = reduced(parts.view(ctx.world, own, 2)) if reduced else parts
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    specs = {"x": rows, "target": rows, "weight": piece(0, before, before + own, ROWS)}
    return Program({"x": x, "target": target}, {"weight": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, lambda parts: parts.mean(0))


def build_own(ctx):
    """Wrong: of the first rank's rows alone."""
    return program(ctx, lambda parts: parts[0])


def stacked(ctx, made=None):
    """Each rank averages its rows of the gradient. made: these, of what all ranks sent it."""
    weight = torch.nn.Parameter(torch.randn(4, 4))
    x, target = torch.randn(4 // ctx.world, 4), torch.randn(4 // ctx.world, 4)

    def step():
        loss = functional.mse_loss(torch.tanh(x @ weight), target)
        loss.backward()
        if made:
            whole = torch.empty(4, 4)
            dist.all_gather_into_tensor(whole, made(weight.grad, 4 // ctx.world).contiguous())
            weight.grad = whole / ctx.world
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    specs = {"x": rows, "target": rows}
    return Program({"x": x, "target": target}, {"weight": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def exchanged(sent, *shape):
    got = torch.empty(*shape)
    dist.all_to_all_single(got, sent.contiguous())
    return got


def build_stacked_single(ctx):
    return stacked(ctx)


def build_stacked(ctx):
    return stacked(ctx, lambda grad, own: exchanged(grad, 4 // own, own, 4).sum(0))


def build_stacked_flat(ctx):
    """What is sent has one dimension, what is received three."""
    return stacked(ctx, lambda grad, own: exchanged(grad.flatten(), 4 // own, own, 4).sum(0))


def build_stacked_turned(ctx):
    """Wrong: what lies in memory as rows is taken for columns."""
    return stacked(ctx, lambda grad, own: exchanged(grad, 4 // own, 4, own).sum(0).t())


def counted(ctx, count):
    """A loss that counts. count: of the ids."""
    weight, ids = torch.nn.Parameter(torch.randn(3)), torch.randint(0, 3, (4 // ctx.world,))

    def step():
        loss = weight.square().sum() * (1 + count(ids))
        loss.backward()
        return loss

    specs = {"ids": shard(0, ctx.rank, ctx.world)}
    return Program({"ids": ids}, {"weight": weight}, step, specs=specs, ranges={"ids": (0, 2)})


def summed(found, op=dist.ReduceOp.SUM):
    dist.all_reduce(found, op=op)
    return found


def scattered(found):
    got = torch.empty(1, dtype=found.dtype)
    dist.reduce_scatter_tensor(got, found.repeat(2))
    return got[0]


def build_halves(ctx):
    """How many halves of the ids have one."""
    return counted(ctx, lambda ids: sum((half > 0).any().long() for half in ids.chunk(2)))


def build_whole(ctx):
    """Whether one of the ids is there."""
    return counted(ctx, lambda ids: (ids > 0).any().long())


def build_halves_summed(ctx):
    return counted(ctx, lambda ids: summed((ids > 0).any().long()))


def build_truths_summed(ctx):
    """A sum of truth values is one."""
    return counted(ctx, lambda ids: summed((ids > 0).any()).long())


def build_truths_scattered(ctx):
    return counted(ctx, lambda ids: scattered((ids > 0).any()).long())


def build_total(ctx):
    return counted(ctx, lambda ids: ids.sum())


def build_total_averaged(ctx):
    """Back ends make no mean of whole numbers, or cut it."""
    return counted(ctx, lambda ids: 2 * summed(ids.sum(), dist.ReduceOp.AVG))


def averaged(ctx, average=None):
    """average: of the gradients that the rank and the other one have."""
    weight = torch.nn.Parameter(torch.randn(2, 3))
    x, target = torch.randn(4 // ctx.world, 3), torch.randn(4 // ctx.world, 2)

    def step():
        loss = functional.mse_loss(x @ weight.T, target)
        loss.backward()
        if average:
            weight.grad = average(weight.grad.contiguous(), ctx.rank)
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    specs = {"x": rows, "target": rows}
    return Program({"x": x, "target": target}, {"weight": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def received(grad, rank, *shape):
    got = torch.empty(*shape)
    sending = dist.isend(grad, 1 - rank)
    dist.recv(got, 1 - rank)
    sending.wait()
    return got


def turned(grad, rank):
    """Rank 1 reduces the transposed gradient, which lies in memory so."""
    return summed(grad.t().contiguous()).t() / 2 if rank else summed(grad) / 2


def told(grad, rank):
    """Rank 0 tells the average, as one row; `grad` is where rank 1 gets it."""
    dist.all_reduce(grad)
    sent = grad if rank else grad.flatten()
    dist.broadcast(sent, 0)
    return sent.view(2, 3) / 2


def build_averaged_single(ctx):
    return averaged(ctx)


def build_received_flat(ctx):
    return averaged(ctx, lambda grad, rank: (grad + received(grad, rank, 6).view(2, 3)) / 2)


def build_received_turned(ctx):
    """Wrong: rows are taken for columns."""
    return averaged(ctx, lambda grad, rank: (grad + received(grad, rank, 3, 2).t()) / 2)


def build_reduced_flat(ctx):
    return averaged(ctx, lambda grad, rank: summed(grad.flatten() if rank else grad).view(2, 3) / 2)


def build_reduced_turned(ctx):
    return averaged(ctx, turned)


def build_told_flat(ctx):
    return averaged(ctx, told)
