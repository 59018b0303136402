"""Programs under DistributedDataParallel with its default arguments, which broadcasts the buffers of rank 0."""

from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4


class Scaled(nn.Module):
    """Buffers as libraries have them: one that is multiplied with, and places that are an expanded range."""

    def __init__(self):
        super().__init__()
        self.linear, self.places = nn.Linear(SIZE, SIZE), nn.Embedding(SIZE, SIZE)
        self.register_buffer("scale", torch.ones(SIZE))
        self.register_buffer("ids", torch.arange(SIZE).expand((1, -1)))

    def forward(self, x):
        return self.linear(x * self.scale) @ self.places(self.ids[0])


def made_in_the_step(ctx, scale=1.0):
    """The model is wrapped when the step begins, which broadcasts rank 0's weights."""
    model, x, target = nn.Linear(SIZE, SIZE), torch.randn(ROWS // ctx.world, SIZE), torch.randn(ROWS // ctx.world, SIZE)
    rows = shard(0, ctx.rank, ctx.world)

    def step():
        wrapped = DistributedDataParallel(model) if ctx.world > 1 else model
        loss = functional.mse_loss(wrapped(x), target)
        (loss * scale).backward()
        return loss

    more = {"specs": {"x": rows, "target": rows}, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs={"x": x, "target": target}, params=model, step=step, **more)


def build_made_single(ctx):
    return made_in_the_step(ctx)


def build_made_right(ctx):
    return made_in_the_step(ctx)


def build_made(ctx):
    """Its gradients are those of another loss."""
    return made_in_the_step(ctx, 2.0)


def program(ctx, before=lambda model: None, always=False):
    model, x, target = Scaled(), torch.randn(ROWS // ctx.world, SIZE), torch.randn(ROWS // ctx.world, SIZE)
    wrapped = DistributedDataParallel(model) if always or ctx.world > 1 else model
    rows = shard(0, ctx.rank, ctx.world)

    def step():
        before(model)
        loss = functional.mse_loss(wrapped(x), target)
        loss.backward()
        return loss

    more = {"specs": {"x": rows, "target": rows}, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs={"x": x, "target": target}, params=model, step=step, **more)


def doubled(ctx, rank):
    """The program in which one rank doubles its buffer before the forward pass."""
    return program(ctx, lambda model: model.scale.mul_(2.0) if ctx.rank == rank else None)


def build_single(ctx):
    return program(ctx)


def build_wrapped_single(ctx):
    """One device alone, under DistributedDataParallel too."""
    return program(ctx, always=True)


def build_right(ctx):
    return program(ctx)


def build_other_right(ctx):
    """What rank 1 does to its buffer does not matter: it gets that of rank 0."""
    return doubled(ctx, 1)


def build_first(ctx):
    """All ranks get what rank 0 has."""
    return doubled(ctx, 0)


def accumulated(ctx, last_is_local=False):
    """Two backward passes a step, the first without communication, or by mistake the last."""
    model, x = Scaled(), torch.randn(2, ROWS // ctx.world, SIZE)
    wrapped = DistributedDataParallel(model) if ctx.world > 1 else model

    def step():
        losses = []
        for part in range(2):
            local = wrapped.no_sync() if ctx.world > 1 and (part == 1) == last_is_local else nullcontext()
            with local:
                losses.append(wrapped(x[part]).square().mean() / 2)
                losses[-1].backward()
        return losses[0] + losses[1]

    specs = {"x": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def twice(ctx):
    """Two backward passes, both reduced: what is accumulated is averaged again, which leaves it as it is."""
    model, x = Scaled(), torch.randn(2, ROWS // ctx.world, SIZE)
    wrapped = DistributedDataParallel(model) if ctx.world > 1 else model

    def step():
        losses = []
        for part in range(2):
            losses.append(wrapped(x[part]).square().mean() / 2)
            losses[-1].backward()
        return losses[0] + losses[1]

    specs = {"x": shard(1, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_accumulated_single(ctx):
    return accumulated(ctx)


def build_accumulated_right(ctx):
    return accumulated(ctx)


def build_twice_right(ctx):
    return twice(ctx)


def build_accumulated(ctx):
    """The last microbatch's gradients stay where they are."""
    return accumulated(ctx, last_is_local=True)


def build_repeated(ctx):
    """A buffer of which one element is read many times."""
    model = Scaled()
    model.scale = torch.ones(1).expand(SIZE)
    return Program(inputs={"x": torch.randn(ROWS, SIZE)}, params=model, step=model.scale.sum)


class Parts(nn.Module):
    """Of two parts each pass uses one."""

    def __init__(self, chosen):
        super().__init__()
        self.parts, self.chosen = nn.ModuleList(nn.Linear(SIZE, SIZE) for _ in range(2)), chosen

    def forward(self, x):
        return self.chosen(self.parts, x)


def partly_used(ctx, chosen, passes=1, scale=1.0):
    """Whoever wraps it must find out which parameters a pass did not use."""
    model, x = Parts(chosen), torch.randn(ROWS // ctx.world, SIZE)
    wrapped = DistributedDataParallel(model, find_unused_parameters=True) if ctx.world > 1 else model

    def step():
        losses = []
        for _ in range(passes):
            losses.append(wrapped(x).square().mean() * scale)
            losses[-1].backward()
        return sum(losses)

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def in_turns(ctx, scale=1.0):
    """The first pass uses one part, the second the other one."""
    turns = iter((0, 1))
    return partly_used(ctx, lambda parts, x: parts[next(turns)](x), 2, scale)


def build_turns_single(ctx):
    return in_turns(ctx)


def build_turns_right(ctx):
    return in_turns(ctx)


def build_turns(ctx):
    """What is averaged is taken for a sum."""
    return in_turns(ctx, 1 / ctx.world)


def build_halves_single(ctx):
    """Each half of the rows has a part of its own."""
    return partly_used(ctx, lambda parts, x: torch.cat([parts[0](x[: ROWS // 2]), parts[1](x[ROWS // 2 :])]))


def build_halves_right(ctx):
    return partly_used(ctx, lambda parts, x: parts[ctx.rank](x))


def build_halves(ctx):
    """Each rank has the other's part."""
    return partly_used(ctx, lambda parts, x: parts[1 - ctx.rank](x))


def sharded(ctx, optimizer_of):
    """The states of the optimizer are divided among the ranks, by torch's own class."""
    model, x = nn.Linear(SIZE, SIZE), torch.randn(ROWS // ctx.world, SIZE)
    wrapped = DistributedDataParallel(model) if ctx.world > 1 else model
    optimizer = optimizer_of(model.parameters())

    def step():
        loss = wrapped(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    specs = {"x": shard(0, ctx.rank, ctx.world)}
    return Program(inputs={"x": x}, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def redundant(params, rate):
    """What is imported here compiles functions as scripts while it is imported."""
    from torch.distributed.optim import ZeroRedundancyOptimizer  # noqa: PLC0415

    return ZeroRedundancyOptimizer(params, optimizer_class=torch.optim.Adam, lr=rate)


def build_sharded_single(ctx):
    return sharded(ctx, lambda params: torch.optim.Adam(params, lr=0.1))


def build_sharded_right(ctx):
    return sharded(ctx, lambda params: redundant(params, 0.1))


def build_sharded(ctx):
    """Each shard of the states is of another rate than the optimizer's."""
    return sharded(ctx, lambda params: redundant(params, 0.2))
