"""Programs that write files in their step and read them again: each right one beside wrong ones. For tests."""

import io
import pickle
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 3


def folder(ctx):
    made = [tempfile.mkdtemp()]
    if ctx.world > 1:
        dist.broadcast_object_list(made)
    return Path(made[0])


def program(ctx, summed):
    """Rows of the batch on each rank. summed: what all ranks' gradients add up to, of this rank's."""
    x, weight = torch.randn(ROWS // ctx.world, SIZE), torch.randn(SIZE, SIZE, requires_grad=True)

    def step():
        loss = (x @ weight).square().mean()
        loss.backward()
        weight.grad = summed(ctx, weight.grad) / ctx.world
        return loss

    rows = {"x": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x}, {"weight": weight}, step, specs=rows, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx, lambda ctx, grad: grad)


def written(ctx, grad, save=torch.save):
    """The folder in which each rank's gradient is, when all are there."""
    path = folder(ctx)
    save(grad, path / f"{ctx.rank}.pt")
    dist.barrier()
    return path


def by_files(load=torch.load, **more):
    def summed(ctx, grad):
        path = written(ctx, grad, **more)
        return sum(load(path / f"{rank}.pt") for rank in range(ctx.world))

    return lambda ctx: program(ctx, summed)


build_files = by_files()
build_mapped = by_files(lambda path: torch.load(path, mmap=True))
build_whole_objects = by_files(
    lambda path: torch.load(path, weights_only=False)["of"][0],
    save=lambda grad, path: torch.save({"of": [grad.clone(), "a word"]}, path),
)
build_views = by_files(
    lambda path: torch.load(path)[1],
    save=lambda grad, path: torch.save(torch.stack([grad * 2, grad, grad * 3])[:2], path),
)
build_views_other = by_files(
    lambda path: torch.load(path)[0],
    save=lambda grad, path: torch.save(torch.stack([grad * 2, grad, grad * 3])[:2], path),
)


def in_bytes(grad, path):
    held = io.BytesIO()
    torch.save(grad, held)
    path.write_bytes(held.getvalue())


build_bytes = by_files(lambda path: torch.load(io.BytesIO(path.read_bytes())), save=in_bytes)
build_pickled = by_files(
    lambda path: pickle.loads(path.read_bytes()), save=lambda grad, path: path.write_bytes(pickle.dumps(grad))
)


def build_own_alone(ctx):
    def summed(ctx, grad):
        path = written(ctx, grad)
        return sum(torch.load(path / f"{ctx.rank}.pt") for _ in range(ctx.world))

    return program(ctx, summed)


def build_before_scaled(ctx):
    """What is changed after it was written stays in the file as it was."""

    def summed(ctx, grad):
        path = written(ctx, grad.clone())
        found = [torch.load(path / f"{rank}.pt") for rank in range(ctx.world)]
        found[0].mul_(2)
        return sum(torch.load(path / f"{rank}.pt") for rank in range(ctx.world))

    return program(ctx, summed)


def build_after_scaled(ctx):
    """Wrong: what was read first is used, and was changed."""

    def summed(ctx, grad):
        path = written(ctx, grad.clone())
        found = [torch.load(path / f"{rank}.pt") for rank in range(ctx.world)]
        found[0].mul_(2)
        return sum(found)

    return program(ctx, summed)


def build_among_messages(ctx):
    """Files and messages between the same ranks, in one order."""

    def summed(ctx, grad):
        path, other = written(ctx, grad), torch.empty_like(grad)
        torch.load(path / f"{1 - ctx.rank}.pt")
        works = [dist.isend(grad, 1 - ctx.rank), dist.irecv(other, 1 - ctx.rank)]
        for work in works:
            work.wait()
        return grad + (other + torch.load(path / f"{1 - ctx.rank}.pt")) / 2

    return program(ctx, summed)


def build_crossing(ctx):
    """A message is sent before what is read first is written."""

    def summed(ctx, grad):
        other = torch.empty_like(grad)
        sent = dist.isend(grad, 1 - ctx.rank)
        path = written(ctx, grad)
        found = torch.load(path / f"{1 - ctx.rank}.pt")
        dist.irecv(other, 1 - ctx.rank).wait()
        sent.wait()
        return grad + (other + found) / 2

    return program(ctx, summed)


def build_from_before(ctx):
    """A file that was written while the program was built."""
    path = written(ctx, torch.randn(SIZE, SIZE))

    def summed(ctx, grad):
        total = grad.clone()
        dist.all_reduce(total)
        return total + 0 * torch.load(path / f"{1 - ctx.rank}.pt")

    return program(ctx, summed)
