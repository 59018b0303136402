"""Programs for the tests: each shows one thing that a recording must not lose."""

import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from verdict.torch import Program, mean, shard

SIZE = 4


def program(step_of, world=1):
    weight = torch.randn(SIZE, SIZE, requires_grad=True)
    x = torch.randn(SIZE, SIZE)

    def step():
        loss = step_of(x, weight)
        loss.backward()
        return loss

    return Program(inputs={"x": x}, params={"weight": weight}, step=step)


def build_single(ctx):
    return program(lambda x, weight: (x @ weight).sum())


def build_shifted(ctx):
    """All scores of a row are shifted alike, which changes no result: the gradient is zero but for rounding."""
    return program(lambda x, weight: (torch.softmax(x + weight.sum(), -1) * x).sum())


class Holding(torch.optim.Optimizer):
    """An optimizer that steps another one, whose the states are."""

    def __init__(self, params):
        super().__init__(params, {})
        self.held = torch.optim.Adam(self.param_groups[0]["params"])

    def step(self):
        self.held.step()


def build_held_optimizer(ctx):
    made = program(lambda x, weight: (x @ weight).sum())
    stepper = Holding([made.params["weight"]])

    def step():
        loss = made.step()
        stepper.step()
        return loss

    return Program(inputs=made.inputs, params=made.params, step=step, optimizer=stepper)


def build_waited(ctx):
    def step(x, weight):
        y = (x @ weight).sum()
        total = y.detach().clone()
        dist.all_reduce(total, async_op=True).wait()
        return y + 0 * total

    return program(step)


def build_unwaited(ctx):
    def step(x, weight):
        y = (x @ weight).sum()
        total = y.detach().clone()
        dist.all_reduce(total, async_op=True)
        return y + 0 * total

    return program(step)


def build_asked(ctx):
    """What happens to a work that is not waited for, but looked after, is not followed."""

    def step(x, weight):
        y = (x @ weight).sum()
        total = y.detach().clone()
        dist.all_reduce(total, async_op=True).is_completed()
        return y + 0 * total

    return program(step)


def build_read_early(ctx):
    """It is read before it is waited for, and after."""

    def step(x, weight):
        y = (x @ weight).sum()
        total = y.detach().clone()
        work = dist.all_reduce(total, async_op=True)
        early = total + 0
        work.wait()
        return y + 0 * (early + total)

    return program(step)


def build_received_early(ctx):
    def step(x, weight):
        y = (x @ weight).sum()
        other = torch.empty(())
        receive = dist.irecv(other, 1 - ctx.rank)
        send = dist.isend(y.detach(), 1 - ctx.rank)
        send.wait()
        z = y + 0 * other
        receive.wait()
        return z

    return program(step)


def build_slow(ctx):
    """Real tensors take it longer."""

    def step(x, weight):
        until = time.monotonic() + 40
        while type(x) is torch.Tensor and time.monotonic() < until:
            sum(range(1000))
        return (x @ weight).sum()

    return program(step)


def build_endless(ctx):
    """What never ends where it is recorded, too."""

    def step(x, weight):
        time.sleep(600)

    return program(step)


def build_huge(ctx):
    """Two GiB of memory of its own."""

    def step(x, weight):
        return (x @ weight).sum() + bytearray(1 << 31)[0]

    return program(step)


def build_huge_run(ctx):
    """The same, only where it is run."""

    def step(x, weight):
        y = (x @ weight).sum()
        return y + bytearray(1 << 31)[0] if type(x) is torch.Tensor else y + 0

    return program(step)


def build_hangs(ctx):
    """Rank 0 waits for a message of which the recording knows nothing."""

    def step(x, weight):
        y = (x @ weight).sum()
        if type(x) is torch.Tensor and ctx.rank == 0:
            dist.recv(torch.empty(()), 1)
        total = y.detach().clone()
        dist.all_reduce(total)
        return y + 0 * total

    return program(step)


def build_escape(ctx):
    """A number that the data decides becomes a constant of the program."""
    return program(lambda x, weight: (x @ weight).sum() * float(x.sum()))


def build_constant_escape(ctx):
    """A number that nothing decides may be read."""
    return program(lambda x, weight: (x @ weight).sum() * float(torch.tensor(2.0) + 1))


def build_random(ctx):
    """What is drawn depends on a tensor, of which nothing is said."""
    return program(lambda x, weight: (x @ weight * torch.bernoulli(torch.full((SIZE, SIZE), 0.5))).sum())


def build_dead_random(ctx):
    """Random numbers that nothing uses do not matter."""

    def step(x, weight):
        torch.rand(SIZE)
        return (x @ weight).sum()

    return program(step)


def build_uninitialised(ctx):
    def step(x, weight):
        room = torch.empty(SIZE, SIZE)
        room[: SIZE - 1] = x[: SIZE - 1]
        return (room @ weight).sum()

    return program(step)


def build_filled(ctx):
    """Uninitialised memory all of which is written before it is read."""

    def step(x, weight):
        room = torch.empty(SIZE, SIZE)
        room[: SIZE - 1] = x[: SIZE - 1]
        room[SIZE - 1] = x[SIZE - 1]
        return (room @ weight).sum()

    return program(step)


def averaged(ctx, **listed):
    """A moving average of a weight, which begins as a copy of it."""
    model = torch.nn.Linear(SIZE, SIZE, bias=False)
    average = model.weight.detach().clone()
    x = torch.randn(SIZE, SIZE)

    def step():
        average.lerp_(model.weight.detach(), 0.1)
        return model(x).sum()

    params = {"weight": model.weight, **({"average": average} if listed else {})}
    return Program(inputs={"x": x}, params=params, step=step, outputs=lambda: {"averaged": average})


def build_averaged(ctx):
    return averaged(ctx)


def build_averaged_listed(ctx):
    return averaged(ctx, listed=True)


def silently(x: torch.Tensor) -> torch.Tensor:
    """Says that it writes nothing, and writes."""
    x.mul_(2.0)
    return x.clone()


if not hasattr(torch.ops.verdicttests, "silently"):  # this file is imported under several names
    torch.library.define("verdicttests::silently", "(Tensor x) -> Tensor")
    torch.library.impl("verdicttests::silently", "CPU", silently)
    torch.library.register_fake("verdicttests::silently", torch.empty_like)


def build_lying(ctx):
    def step(x, weight):
        y = x.clone()
        torch.ops.verdicttests.silently(y)
        return (y @ weight).sum()

    return program(step)


def build_unnamed(ctx):
    """A tensor with data that the program does not name."""
    hidden = nn.Linear(SIZE, SIZE)
    return program(lambda x, weight: hidden(x @ weight).sum())


def build_exchange(ctx):
    """Both ranks receive before they send, and wait for both: no deadlock."""

    def step(x, weight):
        y = (x @ weight).sum()
        other = torch.empty(())
        receive = dist.irecv(other, 1 - ctx.rank)
        send = dist.isend(y.detach(), 1 - ctx.rank)
        receive.wait()
        send.wait()
        return y + 0 * other

    return program(step)


def to_the_next(ctx, peer):
    """Rank 0 sends what rank 1 adds."""

    def step(x, weight):
        y = (x @ weight).sum()
        other = torch.zeros(())
        if ctx.rank == 0:
            dist.send(y.detach(), peer)
        else:
            dist.recv(other, 0)
        return y + 0 * other

    return program(step)


def build_sent_to_nobody(ctx):
    return to_the_next(ctx, ctx.rank - 1)


def build_sent_on(ctx):
    return to_the_next(ctx, ctx.rank + 1)


def build_deadlock(ctx):
    """Both ranks receive before they send."""

    def step(x, weight):
        y = (x @ weight).sum()
        other = torch.empty(())
        dist.recv(other, 1 - ctx.rank)
        dist.send(y.detach(), 1 - ctx.rank)
        return y + 0 * other

    return program(step)


def uneven(ctx):
    return [1, 3] if ctx.rank == 0 else [2, 2]


def build_collectives_single(ctx):
    x = torch.randn(2, 2 * SIZE, SIZE)
    held = {}

    def step():
        rows = x.flatten(0, 1)
        held["gathered"] = rows.clone()
        held["total"] = x.sum(0)
        held["greatest"] = x.amax(0)
        held["swapped"] = torch.cat([x[:, :SIZE].flatten(0, 1), x[:, SIZE:].flatten(0, 1)])

    return Program(inputs={"x": x}, params={}, step=step, outputs=lambda: held)


def build_collectives(ctx):
    """Lists, bases, coalesced ones and uneven pieces; what comes out is known from the single-device program."""
    x = torch.randn(1, 2 * SIZE, SIZE)
    held = {}

    def step():
        own = x[0].clone()
        pieces = [torch.empty(2 * SIZE, SIZE) for _ in range(2)]
        dist.all_gather(pieces, own)
        held["gathered"] = torch.cat(pieces)
        scattered = torch.empty(SIZE, SIZE)
        dist.reduce_scatter(scattered, list(own.chunk(2)))
        held["total"] = scattered
        greatest = own.clone()
        dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
        held["greatest"] = greatest
        swapped = [torch.empty(SIZE, SIZE) for _ in range(2)]
        dist.all_to_all(swapped, [piece.contiguous() for piece in own.chunk(2)])
        held["swapped"] = torch.cat(swapped)

    half = shard(0, ctx.rank, 2)
    specs = {"x": half, "total": half, "swapped": half}
    return Program(inputs={"x": x}, params={}, step=step, outputs=lambda: held, specs=specs)


def build_mean(ctx):
    """Each rank has a row of the data and its own mean."""
    weight, x = torch.randn(SIZE, requires_grad=True), torch.randn(SIZE // ctx.world, SIZE)

    def step():
        loss = (x @ weight).mean()
        loss.backward()
        dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    loss = mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x}, params={"weight": weight}, step=step, specs={"x": rows}, loss=loss)


def build_unlike(ctx):
    """Ranks with pieces of other sizes, under a spec of equal ones."""
    weight = torch.randn(3, requires_grad=True)
    held = {}

    def step():
        weight.square().sum().backward()
        held["piece"] = weight.grad[2 * ctx.rank : 2 * ctx.rank + 2].clone()

    specs = {"piece": shard(0, ctx.rank, ctx.world)}
    return Program(inputs={}, params={"weight": weight}, step=step, outputs=lambda: held, specs=specs)


def build_shapes_sent(ctx):
    """A pipeline of which the ranks tell each other the shapes."""
    stage = PipelineStage(nn.Linear(SIZE, SIZE), ctx.rank, ctx.world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=nn.functional.mse_loss)
    x = torch.randn(SIZE, SIZE)
    return Program(inputs={"x": x}, params=stage.submod, step=lambda: schedule.step(x, target=x))
