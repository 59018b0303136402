"""Accumulated and piped microbatches, and schedulers, with a slip: the line that is to blame ends in `# place`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

DIM, ROWS = 4, 8


def accumulated(parts, divided):
    """Gradients of `parts` microbatches. divided: whether the loss of each is, by their number."""
    model, x, target = nn.Linear(DIM, 2, bias=False), torch.randn(ROWS, DIM), torch.randn(ROWS, 2)

    def step():
        total = torch.zeros(())
        for mine, due in zip(x.chunk(parts), target.chunk(parts), strict=True):
            loss = functional.mse_loss(model(mine), due)  # place
            (loss / parts if divided else loss).backward()
            total += loss.detach() / parts
        return total

    return Program({"x": x, "target": target}, model, step)


def build_accumulated_single(ctx):
    return accumulated(1, divided=False)


def build_accumulated(ctx):
    return accumulated(4, divided=True)


def build_accumulated_not_divided(ctx):
    return accumulated(4, divided=False)


def piped(ctx, order=(0, 1)):
    """Two stages and two microbatches. order: in which the second stage receives them."""
    first, second = nn.Linear(DIM, DIM, bias=False), nn.Linear(DIM, 1, bias=False)
    x, target = torch.randn(ROWS, DIM), torch.randn(ROWS, 1)

    def alone():
        loss = functional.mse_loss(second(first(x).relu()), target)
        loss.backward()
        return loss

    def sending():
        made = [first(part).relu() for part in x.chunk(2)]
        for one in made:
            dist.send(one.detach(), 1)
        grads = [torch.empty(ROWS // 2, DIM) for _ in made]
        for grad in grads:
            dist.recv(grad, 1)
        for one, grad in zip(made, grads, strict=True):
            one.backward(grad)

    def receiving():
        got = [torch.empty(ROWS // 2, DIM) for _ in order]
        for number in order:
            dist.recv(got[number], 0)  # place
        total = torch.zeros(())
        for one, due in zip(got, target.chunk(2), strict=True):
            loss = functional.mse_loss(second(one.requires_grad_()), due) / 2
            loss.backward()
            total += loss.detach()
        for one in got:
            dist.send(one.grad, 0)
        return total

    if ctx.world == 1:
        return Program({"x": x, "target": target}, {"first": first.weight, "second": second.weight}, alone)
    if ctx.rank == 0:
        return Program({"x": x}, {"first": first.weight}, sending)
    return Program({"target": target}, {"second": second.weight}, receiving)


def build_piped_single(ctx):
    return piped(ctx)


def build_piped(ctx):
    return piped(ctx)


def build_piped_exchanged(ctx):
    """The second microbatch is taken for the first."""
    return piped(ctx, (1, 0))


def scheduled(ctx, times=1):
    """Data parallel training, its learning rate halved behind each of three steps. times: how often on this rank."""
    model = nn.Linear(DIM, 1, bias=False)
    x, target = torch.randn(3, 4 // ctx.world, DIM), torch.randn(3, 4 // ctx.world, 1)
    sgd = torch.optim.SGD(model.parameters(), lr=0.5)
    halved = torch.optim.lr_scheduler.ExponentialLR(sgd, 0.5)

    def step():
        for mine, due in zip(x, target, strict=True):
            sgd.zero_grad()
            loss = functional.mse_loss(model(mine), due)
            loss.backward()
            if ctx.world > 1:
                dist.all_reduce(model.weight.grad, op=dist.ReduceOp.AVG)
            sgd.step()  # place
            for _ in range(times):
                halved.step()
        return loss.detach()

    if ctx.world == 1:
        return Program({"x": x, "target": target}, model, step, optimizer=sgd)
    specs = {name: shard(1, ctx.rank, ctx.world) for name in ("x", "target")}
    more = {"specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program({"x": x, "target": target}, model, step, optimizer=sgd, **more)


def build_scheduled_single(ctx):
    return scheduled(ctx)


def build_scheduled(ctx):
    return scheduled(ctx)


def build_scheduled_twice(ctx):
    """The second rank halves its learning rate twice."""
    return scheduled(ctx, 1 + ctx.rank)


def build_scheduled_twice_everywhere(ctx):
    return scheduled(ctx, 2 if ctx.world > 1 else 1)
