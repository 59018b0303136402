"""Programs that a recording alone would take for others; `build_<cause>_right` is the twin of `build_<cause>`.

The truth of each is what gloo processes on CPUs compute (tests/torch/truth.py).
"""

import os
import random
import threading

import numpy as np
import torch
import torch.distributed as dist

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
        tensor.mul_(2.0)
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


SINGLES = dict.fromkeys(("build_set_order", "build_hash_order", "build_id_order"), "build_two_single")


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
