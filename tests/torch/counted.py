"""A step that returns no loss, and divides by how many labels are not passed over, on all ranks, as trainers do."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, shard

ROWS, SIZE, CLASSES, PASSED = 4, 3, 5, -100
LENGTHS = (3, 1, 2, 3)


def program(ctx, counted=True, ranges=True, passed=PASSED, last=lambda weight: weight):
    """counted: whether labels of all ranks are. ranges: whether those of labels are stated. passed: the label that is
    passed over. last: what is made of the weight at the end.
    """
    rows = ROWS // ctx.world
    x, labels = torch.randn(rows, SIZE, 4), torch.randint(CLASSES, (rows, SIZE))
    weight = torch.randn(4, CLASSES, requires_grad=True)
    filled = torch.arange(SIZE) >= torch.tensor(LENGTHS[ctx.rank * rows : (ctx.rank + 1) * rows])[:, None]
    after = {}

    def step():
        due = labels.masked_fill(filled, passed)
        count = due.ne(passed).sum()
        if ctx.world > 1 and counted:
            dist.all_reduce(count)
        made = (x @ weight).flatten(0, 1)
        loss = functional.cross_entropy(made, due.flatten(), ignore_index=passed, reduction="sum") / count
        loss.backward()
        if ctx.world > 1:
            dist.all_reduce(weight.grad)
        after["last"] = last(weight.detach() - 0.1 * weight.grad)

    specs = {name: shard(0, ctx.rank, ctx.world) for name in ("x", "labels")}
    more = {"ranges": {"labels": (0, CLASSES - 1)}} if ranges else {}
    return Program({"x": x, "labels": labels}, {"w": weight}, step, outputs=lambda: after, specs=specs, **more)


def clamped(weight):
    """A number is made of what is none, also where nothing is counted."""
    return weight.clamp(-1, 1)


def build_single(ctx):
    return program(ctx, last=clamped)


def build(ctx):
    return program(ctx, last=clamped)


def build_uncounted(ctx):
    """Wrong: each rank counts its own labels."""
    return program(ctx, counted=False, last=clamped)


def build_zero(ctx):
    """Labels that are zero are passed over."""
    return program(ctx, passed=0)


def build_any(ctx):
    return program(ctx, ranges=False)
