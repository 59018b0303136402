"""Parameters that lie in one flat buffer, as ZeroRedundancyOptimizer's `parameters_as_bucket_view` has them, of which
each rank updates some, and which is sent as a whole; they were drawn before they were put there.
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn import functional

from verdict.torch import Program, mean, shard

DIM, ROWS, STEPS = 4, 4, 2


def program(ctx, optimizer, averaged=True):
    model = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, 2, bias=False))
    x, target = torch.randn(STEPS, ROWS // ctx.world, DIM), torch.randn(STEPS, ROWS // ctx.world, 2)
    update = optimizer(model)

    def step():
        for now in range(STEPS):
            for weight in model.parameters():
                weight.grad = None
            loss = functional.mse_loss(model(x[now]), target[now])
            loss.backward()
            for weight in model.parameters() if ctx.world > 1 and averaged else ():
                dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
            update(now)
        return loss.detach()

    if ctx.world == 1:
        return Program({"x": x, "target": target}, model, step)
    rows = shard(1, ctx.rank, ctx.world)
    more = {"specs": {"x": rows, "target": rows}, "loss": mean(ctx.rank, ctx.world)}
    return Program({"x": x, "target": target}, model, step, **more)


def plain(model):
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    return lambda now: sgd.step()


def redundant(model):
    zero = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1)
    return lambda now: zero.step()


def by_hand(ctx, sent=lambda now: True, turned=False):
    """sent: in which steps the second rank's buffer is. turned: its weights lie there in another order on rank 1."""

    def optimizer(model):
        first, bias, second = model.parameters()
        groups = [[first], [bias, second]]
        buffers = [flattened(group[::-1] if turned and ctx.rank else group) for group in groups]

        def update(now):
            with torch.no_grad():
                for weight in groups[ctx.rank]:
                    weight.sub_(weight.grad, alpha=0.1)
            for rank, buffer in enumerate(buffers):
                if rank == 0 or sent(now):
                    dist.broadcast(buffer, rank)

        return update

    return optimizer


def flattened(weights):
    buffer, start = torch.empty(sum(weight.numel() for weight in weights)), 0
    for weight in weights:
        stop = start + weight.numel()
        buffer[start:stop].copy_(weight.data.flatten())
        weight.data, start = buffer[start:stop].view_as(weight.data), stop
    return buffer


def build_single(ctx):
    return program(ctx, plain)


def build(ctx):
    return program(ctx, redundant)


def build_not_averaged(ctx):
    return program(ctx, redundant, averaged=False)


def build_by_hand(ctx):
    return program(ctx, by_hand(ctx))


def build_once(ctx):
    """Wrong: what the second rank updates in the second step stays there."""
    return program(ctx, by_hand(ctx, lambda now: now == 0))


def build_turned(ctx):
    """Wrong: what is a weight on one rank is the other on the next one."""
    return program(ctx, by_hand(ctx, turned=True))
