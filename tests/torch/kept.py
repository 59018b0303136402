"""A step of data parallel training after which a rank has a weight, or a count, as it was before."""

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard


def program(ctx, steps=True, counts=True):
    torch.manual_seed(0)
    ranks, rows = ctx.world, 4 // ctx.world
    model, seen = torch.nn.Linear(3, 2, bias=False), torch.zeros(())
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    x, t = torch.randn(rows, 3), torch.randn(rows, 2)

    def step():
        loss = torch.nn.functional.mse_loss(model(x), t)
        loss.backward()
        if ranks > 1:
            dist.all_reduce(model.weight.grad, op=dist.ReduceOp.AVG)
        if steps:
            sgd.step()
        if counts:
            seen.add_(4)
        return loss

    given, params = {"x": x, "t": t}, {"weight": model.weight, "seen": seen}
    if ranks == 1:
        return Program(given, params, step)
    return Program(given, params, step, specs=dict.fromkeys(given, shard(0, ctx.rank, 2)), loss=mean(ctx.rank, 2))


def build_single(ctx):
    return program(ctx)


def build_right(ctx):
    return program(ctx)


def build_no_step(ctx):
    return program(ctx, steps=ctx.rank == 0)


def build_no_count(ctx):
    return program(ctx, counts=ctx.rank == 0)
