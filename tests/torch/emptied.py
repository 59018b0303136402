"""Rows of a weight in uneven pieces, of which a rank may have none, exchanged by all_to_all_single. For tests."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, piece, shard

ROWS, SIZES = 4, (1, 0, 3)


def program(ctx, reduced=None):
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
