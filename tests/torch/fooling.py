"""Programs that a recording alone would take for others; `build_<cause>_right` is the twin of `build_<cause>`.

The truth of each is what gloo processes on CPUs compute (tests/torch/truth.py).
"""

import ctypes
import importlib.util
import multiprocessing
import os
import random
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch.utils._python_dispatch import _disable_current_modes

from verdict.torch import Program, mean, shard

ROWS, SIZE = 8, 4


def program(ctx, work=None, after=None, scale=lambda: 1.0, **more):
    """A linear layer under data parallelism: `after` does something to the weight's gradient before it is reduced."""
    torch.manual_seed(0)
    weight = torch.nn.Parameter(torch.randn(SIZE, SIZE))
    x = torch.randn(ROWS // ctx.world, SIZE)

    def step():
        y = x @ weight
        loss = (y if work is None else work(y, weight)).square().mean() * scale()
        loss.backward()
        if after is not None:
            after(weight)
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
            weight.grad /= ctx.world
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    given = {"inputs": {"x": x}, "params": {"weight": weight}, "specs": {"x": rows}, **more}
    return Program(step=step, loss=mean(ctx.rank, ctx.world), **given)


def build_single(ctx):
    return program(ctx)


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def build_thread(ctx):
    """A thread scales the gradient."""

    def after(weight):
        in_thread(lambda: weight.grad.mul_(2.0))

    return program(ctx, after=after)


def build_thread_right(ctx):
    """A thread does something else."""
    told = []
    return program(ctx, after=lambda weight: in_thread(lambda: told.append(len(weight.shape))))


def read(tensor, otherwise):
    try:
        return float(tensor)
    except Exception:
        return otherwise


def build_swallowed(ctx):
    """The recorder's refusal is taken for an overflow."""
    return program(ctx, work=lambda y, weight: y * (2.0 if read(y.sum(), None) is not None else 1.0))


def build_swallowed_right(ctx):
    return program(ctx, work=lambda y, weight: y * read(torch.tensor(1.0), 2.0))


def build_handed(ctx):
    """Another library's view of a gradient scales it."""
    return program(ctx, after=lambda weight: torch.from_dlpack(weight.grad).mul_(2.0))


def reduced(ctx, then):
    """`then` does something to the weight's gradient after it was reduced."""
    made = program(ctx)

    def step():
        loss = made.step()
        then(made.params["weight"].grad)
        return loss

    return replace(made, step=step)


def build_handed_last(ctx):
    """The same where nothing reads the gradient after that."""
    return reduced(ctx, lambda grad: torch.from_dlpack(grad).mul_(2.0))


def build_handed_filled(ctx):
    """What is written there does not depend on what was there."""
    return reduced(ctx, lambda grad: torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(grad)).fill_(2.0))


def build_handed_read(ctx):
    """The numbers of the weight in the recorded step."""
    return program(ctx, work=lambda y, weight: y * torch.from_dlpack(weight.detach()).sum())


def build_addressed(ctx):
    """The gradient's memory is written to by its address."""

    def then(grad):
        number = ctypes.c_float if grad.dtype == torch.float32 else ctypes.c_double
        number.from_address(grad.untyped_storage().data_ptr()).value = 3.0

    return reduced(ctx, then)


def build_overlapping_right(ctx):
    """Two tensors of one table of numpy's, which nobody writes to."""
    table = np.ones(SIZE + 1, dtype=np.float32)
    first, second = torch.from_numpy(table[:-1]), torch.from_numpy(table[1:])
    return program(ctx, work=lambda y, weight: y * first * second)


def build_numpy_view(ctx):
    """A table that numpy changes after torch has seen it."""
    table = np.ones(SIZE, dtype=np.float32)
    tensor = torch.from_numpy(table)

    def work(y, weight):
        first = y * tensor
        table[:] = 3.0
        return first * tensor

    return program(ctx, work=work)


def build_numpy_view_right(ctx):
    table = np.ones(SIZE, dtype=np.float32)
    tensor = torch.from_numpy(table)
    return program(ctx, work=lambda y, weight: y * tensor)


def build_numpy_written(ctx):
    """numpy sees what torch writes."""
    table = np.ones(SIZE, dtype=np.float32)
    tensor = torch.from_numpy(table)

    def scale():
        tensor.mul_(2.0)
        return float(table[0])

    return program(ctx, scale=scale)


def build_numpy_written_right(ctx):
    table = np.ones(SIZE, dtype=np.float32)
    tensor = torch.from_numpy(table).clone()

    def scale():
        tensor.clone().mul_(2.0)
        return float(table[0])

    return program(ctx, scale=scale)


def build_numpy_random(ctx):
    """Each rank draws a factor of its own."""
    return program(ctx, scale=lambda: 1.0 if np.random.rand() < 0.5 else 2.0)


def build_numpy_random_right(ctx):
    np.random.seed(3)
    factor = 1.0 if np.random.rand() >= 0 else 2.0
    return program(ctx, scale=lambda: factor)


def build_python_random(ctx):
    return program(ctx, scale=lambda: random.choice([1.0, 2.0, 3.0, 4.0]))


def build_python_random_right(ctx):
    random.seed(3)
    factor = float(random.choice([1.0, 1.0]))
    return program(ctx, scale=lambda: factor)


def build_rare(ctx):
    """What is drawn decides, and hardly ever."""
    return program(ctx, scale=lambda: 1.0 if random.random() > 1e-12 else 2.0)


def generated(factor):
    """What multiplies, in a file whose name is drawn: a package that writes code does so."""
    name = f"made_{random.getrandbits(64)}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{name}.py"
        file.write_text(f"def work(y, weight):\n    return y * {factor}\n")
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module.work


def build_generated(ctx):
    """Its code is drawn, too."""
    return program(ctx, work=generated(random.choice([1.0, 2.0, 3.0, 4.0])))


def build_generated_name(ctx):
    """Where its code stands is drawn, and nothing else."""
    return program(ctx, work=generated(1.0))


def build_numpy_generator(ctx):
    """A generator of numpy's that gets no seed."""
    rng = np.random.default_rng()
    return program(ctx, scale=lambda: 1.0 + rng.integers(1 << 30))


def build_numpy_generator_right(ctx):
    rng = np.random.default_rng(3)
    return program(ctx, scale=lambda: 1.0 + (rng.integers(1 << 30) < 0))


def build_own_generator(ctx):
    """A generator of Python's that gets no seed."""
    return program(ctx, scale=random.Random().random)


def build_own_generator_right(ctx):
    return program(ctx, scale=lambda: 1.0 + (random.Random(3).random() < 0))


def build_secret(ctx):
    """Bits of the system's."""
    return program(ctx, scale=lambda: 1.0 + secrets.randbelow(1 << 30) + uuid.uuid4().int % 7)


def build_secret_right(ctx):
    """What Python does with the system's bits for itself."""

    def scale():
        with tempfile.NamedTemporaryFile() as file:
            return 1.0 if file.name else 2.0

    return program(ctx, scale=scale)


def two_weights(ctx, order, group=None):
    """Two weights of one shape, whose gradients are reduced in the order that `order` gives."""
    torch.manual_seed(0)
    weights = {name: torch.nn.Parameter(torch.randn(SIZE, SIZE)) for name in ("alpha", "beta")}
    x = torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = ((x @ weights["alpha"]).tanh() @ weights["beta"]).square().mean()
        loss.backward()
        for name in order(weights) if ctx.world > 1 else ():
            dist.all_reduce(weights[name].grad)
            weights[name].grad /= ctx.world
        return loss

    rows, loss = shard(0, ctx.rank, ctx.world), mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x}, params=weights, step=step, specs={"x": rows}, loss=loss)


SINGLES = {
    **dict.fromkeys(("build_set_order", "build_hash_order", "build_id_order"), "build_two_single"),
    "build_average": "build_average_single",
    "build_count": "build_count_single",
    "build_flight": "build_flight_single",
}
"""The single-device program of builders that begin so, where it is not `build_single`."""


def build_two_single(ctx):
    return two_weights(ctx, list)


def build_set_order(ctx):
    """The order of a set of words is another in each process."""
    return two_weights(ctx, set)


def build_set_order_right(ctx):
    return two_weights(ctx, lambda weights: sorted(set(weights)))


def build_hash_order(ctx):
    return two_weights(ctx, lambda weights: sorted(weights, key=hash))


def build_id_order(ctx):
    return two_weights(ctx, lambda weights: sorted(weights, key=lambda name: id(weights[name])))


def build_variables(ctx):
    """The rank is read from what torchrun sets, and its world is taken for another."""
    return program(ctx, scale=lambda: 1.0 if "RANK" not in os.environ else 1.0 + int(os.environ["LOCAL_RANK"]))


def build_variables_right(ctx):
    rank, world = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE"))
    return program(ctx, scale=lambda: 1.0 + rank - dist.get_rank() + world - dist.get_world_size())


def build_seeds(ctx):
    """Each rank draws weights of its own, and nobody broadcasts them."""
    found = program(ctx)
    torch.manual_seed(ctx.rank)
    with torch.no_grad():
        found.params["weight"].copy_(torch.randn(SIZE, SIZE))
    return found


def build_seeds_right(ctx):
    found = build_seeds(ctx)
    dist.broadcast(found.params["weight"].data, 0)
    return found


def build_trainable(ctx):
    """A bias that starts as zeros, and that nobody names: its gradient stays each rank's own."""
    bias = torch.zeros(SIZE, requires_grad=True)
    return program(ctx, work=lambda y, weight: y + bias)


def build_trainable_right(ctx):
    """Zeros that nobody trains."""
    bias = torch.zeros(SIZE)
    return program(ctx, work=lambda y, weight: y + bias)


def build_state(ctx):
    """A running mean by hand, of which nobody says anything."""
    mean_so_far = torch.ones(SIZE)

    def after(weight):
        mean_so_far.mul_(0.9).add_(weight.grad.mean(0))

    return program(ctx, after=after)


def build_state_right(ctx):
    """Room that is written before it is read."""
    room = torch.ones(SIZE)

    def after(weight):
        room.copy_(weight.grad.mean(0))
        room.mul_(0.9)

    return program(ctx, after=after)


def averaged(ctx, follows):
    """The average of the weight over the steps is kept in a buffer by those ranks that `follows` names."""
    kept = torch.zeros(SIZE, SIZE)
    found = program(ctx)
    weight, inner = found.params["weight"], found.step

    def step():
        loss = inner()
        with torch.no_grad():
            weight.sub_(0.1 * weight.grad)
            if follows(ctx.rank):
                kept.mul_(0.5).add_(0.5 * weight)
        return loss

    params = {"weight": weight, "average": kept}
    return Program(inputs=found.inputs, params=params, step=step, specs=found.specs, loss=found.loss)


def build_average_single(ctx):
    return averaged(ctx, lambda rank: True)


def build_average(ctx):
    """Only rank 0 keeps the average."""
    return averaged(ctx, lambda rank: rank == 0)


def build_average_right(ctx):
    return averaged(ctx, lambda rank: True)


def counted(ctx, follows):
    """A step that counts itself, beside its optimizer."""
    found = program(ctx)
    weight, inner = found.params["weight"], found.step
    optimizer = torch.optim.Adam([weight], lr=0.1)

    def step():
        loss = inner()
        optimizer.step()
        if not follows(ctx.rank):
            optimizer.state[weight]["step"] += 1
        return loss

    return Program(inputs=found.inputs, params=found.params, step=step, specs=found.specs, loss=found.loss,
                   optimizer=optimizer)  # fmt: skip


def build_count_single(ctx):
    return counted(ctx, lambda rank: True)


def build_count(ctx):
    """Rank 1 counts one step more."""
    return counted(ctx, lambda rank: rank == 0)


def build_count_right(ctx):
    return counted(ctx, lambda rank: True)


def build_flight_single(ctx):
    torch.manual_seed(0)
    weight, x = torch.nn.Parameter(torch.randn(SIZE, SIZE)), torch.randn(ROWS, SIZE)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        weight.grad = weight.grad * 2 + 1
        return loss

    return Program(inputs={"x": x}, params={"weight": weight}, step=step)


def flying(ctx, reduce):
    """Gradients are reduced by `reduce`, and the mean gradient is doubled and raised by one."""

    def after(weight):
        room = torch.stack([weight.grad, weight.grad + 1.0])
        reduce(room)
        weight.grad = room.sum(0) / ctx.world

    torch.manual_seed(0)
    weight, x = torch.nn.Parameter(torch.randn(SIZE, SIZE)), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        after(weight)
        return loss

    rows, loss = shard(0, ctx.rank, ctx.world), mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x}, params={"weight": weight}, step=step, specs={"x": rows}, loss=loss)


def build_flight_input(ctx):
    """What is gathered is overwritten before the gathering was waited for."""

    def reduce(room):
        own, gathered = room.clone(), [torch.empty_like(room) for _ in range(ctx.world)]
        work = dist.all_gather(gathered, own, async_op=True)
        own.zero_()
        work.wait()
        room.copy_(sum(gathered))

    return flying(ctx, reduce)


def build_flight_input_right(ctx):
    def reduce(room):
        own, gathered = room.clone(), [torch.empty_like(room) for _ in range(ctx.world)]
        work = dist.all_gather(gathered, own, async_op=True)
        work.wait()
        own.zero_()
        room.copy_(sum(gathered))

    return flying(ctx, reduce)


def build_flight_two(ctx):
    """Of two slices in flight, only one is waited for."""

    def reduce(room):
        works = [dist.all_reduce(part, async_op=True) for part in room]
        works[1].wait()

    return flying(ctx, reduce)


def build_flight_two_right(ctx):
    """Each slice is waited for where it is read, the other still in flight."""

    def reduce(room):
        works = [dist.all_reduce(part, async_op=True) for part in room]
        done = []
        for part, work in zip(room, works, strict=True):
            work.wait()
            done.append(part * 1.0)
        room.copy_(torch.stack(done))

    return flying(ctx, reduce)


def grouped(ctx, make, use):
    """Gradients are reduced by `use`, which gets them and what `make` made."""
    groups = make() if ctx.world > 1 else None
    torch.manual_seed(0)
    weight, x = torch.nn.Parameter(torch.randn(SIZE, SIZE)), torch.randn(ROWS // ctx.world, SIZE)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        if ctx.world > 1:
            use(weight.grad, groups)
            weight.grad /= ctx.world
        return loss

    rows, loss = shard(0, ctx.rank, ctx.world), mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x}, params={"weight": weight}, step=step, specs={"x": rows}, loss=loss)


def two_groups():
    return [dist.new_group([0, 1]) for _ in range(2)]


def halves(grad, groups):
    for part, group in zip(grad.chunk(2), groups, strict=True):
        dist.all_reduce(part, group=group)


def build_groups_exchanged(ctx):
    """Two groups of the same ranks, exchanged on rank 1."""
    return grouped(ctx, two_groups, lambda grad, groups: halves(grad, groups[:: 1 - 2 * ctx.rank]))


def build_groups_exchanged_right(ctx):
    return grouped(ctx, two_groups, halves)


def build_group_of_members(ctx):
    """A group of rank 0 that only rank 0 makes."""

    def make():
        if ctx.rank == 0:
            dist.new_group([0])
        return [dist.new_group([0, 1])]

    return grouped(ctx, make, lambda grad, groups: dist.all_reduce(grad, group=groups[0]))


def build_group_of_members_right(ctx):
    def make():
        dist.new_group([0])
        return [dist.new_group([0, 1])]

    return grouped(ctx, make, lambda grad, groups: dist.all_reduce(grad, group=groups[0]))


def build_group_order(ctx):
    """Groups that are made in another order on rank 1."""

    def make():
        ranks = [[0], [0, 1]][:: 1 - 2 * ctx.rank]
        made = {len(each): dist.new_group(each) for each in ranks}
        return [made[2]]

    return grouped(ctx, make, lambda grad, groups: dist.all_reduce(grad, group=groups[0]))


def build_barrier(ctx):
    """A barrier that rank 1 leaves out."""

    def use(grad, groups):
        dist.all_reduce(grad)
        if ctx.rank == 0:
            dist.barrier()

    return grouped(ctx, list, use)


def build_barrier_right(ctx):
    def use(grad, groups):
        dist.all_reduce(grad)
        dist.barrier()

    return grouped(ctx, list, use)


def build_barrier_early(ctx):
    """Rank 0 is at the barrier where rank 1 is at the reduction."""

    def use(grad, groups):
        steps = [dist.barrier, lambda: dist.all_reduce(grad)]
        for step in steps if ctx.rank == 0 else steps[::-1]:
            step()

    return grouped(ctx, list, use)


def tagged(ctx, tags):
    """The halves of the gradients are exchanged by messages. tags: of what is sent, and of what is received."""

    def use(grad, groups):
        parts, other = grad.chunk(2), 1 - ctx.rank
        found = [torch.empty_like(part) for part in parts]
        works = [dist.isend(part.clone(), other, tag=tag) for part, tag in zip(parts, tags[0], strict=True)]
        works += [dist.irecv(part, other, tag=tag) for part, tag in zip(found, tags[1], strict=True)]
        for work in works:
            work.wait()
        grad += torch.cat(found)

    return grouped(ctx, list, use)


def build_tags(ctx):
    """Tags are exchanged: each half is added to the other."""
    return tagged(ctx, ((1, 2), (2, 1)))


def build_tags_right(ctx):
    return tagged(ctx, ((1, 2), (1, 2)))


def build_process(ctx):
    """A child process writes to the weight's gradient, which it shares."""

    def after(weight):
        child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(0.01,))
        child.start()
        child.join()

    return program(ctx, after=after)


def build_process_right(ctx):
    """Another program is run, which shares nothing."""
    subprocess.run([sys.executable, "-c", ""], check=True)
    return program(ctx)


def build_given_away(ctx):
    """numpy's view of the gradient is written to, where there is one."""

    def after(weight):
        with suppress(Exception):
            view = weight.grad.numpy()
            view *= 2.0

    return program(ctx, after=after)


def build_given_away_right(ctx):
    """numpy looks at numbers that do not depend on the data."""
    return program(ctx, work=lambda y, weight: y * float(torch.arange(3.0).tolist()[1]))


def build_unseen(ctx):
    """The gradient's weight is written to under no mode."""

    def after(weight):
        with _disable_current_modes(), torch.no_grad():
            weight.mul_(2.0)
        weight.grad += 0 * weight.detach()

    return program(ctx, after=after)


def build_unseen_right(ctx):
    """What is computed under no mode is read by nobody."""

    def after(weight):
        with _disable_current_modes():
            torch.ones(2).mul_(2.0)

    return program(ctx, after=after)


def build_type(ctx):
    """Tensors with data are treated otherwise."""
    return program(ctx, work=lambda y, weight: y * (2.0 if type(y) is torch.Tensor else 1.0))


def build_backend(ctx):
    """What moves data is treated otherwise."""
    return program(ctx, scale=lambda: 2.0 if dist.get_backend() == "gloo" else 1.0)
