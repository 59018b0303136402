"""Expert parallelism: each rank has some of the experts; tokens travel to their expert and back by all_to_all.

Which expert a token goes to is fixed by its place (token t of every group to expert t), as with a router of equal
capacity whose choice is given; both programs route alike.

verdict torch examples/torch/ep_all_to_all.py --world 2
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, mean, piece, shard

EXPERTS, CAPACITY, HIDDEN = 4, 2, 8


class Exchange(torch.autograd.Function):
    """all_to_all_single of even pieces; backward it is its own inverse."""

    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        dist.all_to_all_single(out, x.contiguous())
        return out

    @staticmethod
    def backward(ctx, grad):
        out = torch.empty_like(grad)
        dist.all_to_all_single(out, grad.contiguous())
        return out


class KeepHere(Exchange):
    """Wrong: the gradients are not sent back."""

    @staticmethod
    def backward(ctx, grad):
        return grad


def experts(x, up, down):
    """Slots [expert, token, hidden] through the experts' perceptrons."""
    return torch.bmm(functional.silu(torch.bmm(x, up)), down)


def program(ctx, exchange=None, chunk=None):
    own, world = EXPERTS // ctx.world, ctx.world
    rows = EXPERTS * CAPACITY
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)
    if world == 1:
        x, target = torch.randn(rows * SOURCES, HIDDEN), torch.randn(rows * SOURCES, HIDDEN)
    router = torch.randn(HIDDEN, HIDDEN, requires_grad=True)
    up = torch.randn(own, HIDDEN, 2 * HIDDEN, requires_grad=True)
    down = torch.randn(own, 2 * HIDDEN, HIDDEN, requires_grad=True)

    def layer(h):
        if world == 1:
            slots = h.view(SOURCES, EXPERTS, CAPACITY, HIDDEN).transpose(0, 1).reshape(EXPERTS, -1, HIDDEN)
            mixed = experts(slots, up, down)
            return mixed.view(EXPERTS, SOURCES, CAPACITY, HIDDEN).transpose(0, 1).reshape(-1, HIDDEN)
        arrived = exchange.apply(h).view(world, own, CAPACITY, HIDDEN).transpose(0, 1).reshape(own, -1, HIDDEN)
        mixed = experts(arrived, up, down).view(own, world, CAPACITY, HIDDEN).transpose(0, 1).reshape(-1, HIDDEN)
        return exchange.apply(mixed)

    def step():
        h = x @ router
        loss = functional.mse_loss(h + layer(h), target)
        (loss / world).backward()
        if world > 1:
            dist.all_reduce(router.grad)
        return loss

    return Program(
        inputs={"x": x, "target": target},
        params={"router": router, "up": up, "down": down},
        step=step,
        specs=specs_of(ctx, chunk) if world > 1 else {},
        loss=mean(ctx.rank, world),
    )


SOURCES = 2
"""How many ranks' tokens the single-device program works on: it is compared with a world of this size."""


def specs_of(ctx, chunk):
    rows, held = shard(0, ctx.rank, ctx.world), EXPERTS // ctx.world
    start = (ctx.rank if chunk is None else chunk) * held
    mine = piece(0, start, start + held, EXPERTS)
    return {"x": rows, "target": rows, "up": mine, "down": mine}


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, Exchange)


def build_gradients_stay(ctx):
    """Wrong: backward the gradients are not sent back to where the tokens came from."""
    return program(ctx, KeepHere)


def build_wrong_chunk(ctx):
    """Wrong: the ranks load each other's experts."""
    return program(ctx, Exchange, chunk=ctx.world - 1 - ctx.rank)
