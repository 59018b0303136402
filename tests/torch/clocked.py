"""Programs whose seeds are the time of day: each process reads its own."""

import datetime
import time

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard


def program(rows, ctx=None, seed=lambda: 0, hands_on=False):
    torch.manual_seed(seed())
    model, x, target = torch.nn.Linear(4, 4), torch.randn(rows, 4), torch.randn(rows, 4)

    for weight in model.parameters() if hands_on else ():
        dist.broadcast(weight.data, 0)

    def step():
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        for weight in model.parameters() if ctx else ():
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    if ctx is None:
        return Program(inputs={"x": x, "target": target}, params=model, step=step)
    rows = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": rows, "target": rows}, mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x, "target": target}, params=model, step=step, specs=specs, loss=loss)


def build_single(ctx):
    return program(8)


def build_seconds(ctx):
    return program(4, ctx, lambda: int(time.time()))


def build_nanoseconds(ctx):
    return program(4, ctx, lambda: time.time_ns() // 10**9)


def build_moment(ctx):
    return program(4, ctx, lambda: int(datetime.datetime.now().timestamp()))


def build_minute(ctx):
    return program(4, ctx, lambda: datetime.datetime.now(datetime.UTC).minute)


def build_kept_type(ctx):
    """The type as a package has it that was imported before this rank began."""
    return program(4, ctx, lambda: type(datetime.datetime.min).now().minute)


def build_handed_on_right(ctx):
    return program(4, ctx, lambda: int(time.time()), hands_on=True)


def build_measured_right(ctx):
    begun, day = time.time(), datetime.datetime.now().replace(year=2000)
    assert time.time() - begun < 3600 and isinstance(day, datetime.datetime) and day < datetime.datetime.now()
    return program(4, ctx)


def build_inherited_right(ctx):
    """An extension inherits from the type in C: it is Python's own."""
    assert type(datetime.datetime.min) is datetime.datetime
    return program(4, ctx)
