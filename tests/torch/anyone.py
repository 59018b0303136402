"""Gradients that are exchanged by messages, received from whoever sends one. For tests."""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS, SIZE = 6, 2


def program(ctx, exchange=None):
    weight, x = torch.nn.Parameter(torch.ones(SIZE, SIZE)), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        if exchange is not None:
            exchange(ctx, weight.grad)
            weight.grad /= ctx.world
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x}, {"w": weight}, step, specs=specs, loss=mean(ctx.rank, ctx.world))


def added(ctx, grad, begin=dist.recv):
    """Rank 0 sends first; whoever receives asks from whom it was."""
    other, own = torch.empty_like(grad), grad.clone()
    if ctx.rank == 0:
        dist.send(own, 1)
    sender = begin(other)
    if hasattr(sender, "wait"):
        sender.wait()
    else:
        assert sender == 1 - ctx.rank
    if ctx.rank == 1:
        dist.send(own, 0)
    grad += other


def collected(ctx, grad):
    """Rank 0 adds what comes, in the order in which it comes."""
    other = torch.empty_like(grad)
    if ctx.rank == 0:
        for _ in range(ctx.world - 1):
            dist.recv(other)
            grad += other
    else:
        dist.send(grad, 0)
    dist.broadcast(grad, 0)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, added)


def build_begun(ctx):
    return program(ctx, lambda ctx, grad: added(ctx, grad, dist.irecv))


def build_twice(ctx):
    return program(ctx, lambda ctx, grad: [added(ctx, grad), added(ctx, grad)])


def build_collected(ctx):
    return program(ctx, collected)
