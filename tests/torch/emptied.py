"""A mean over what a mask leaves, which may be nothing: what is infinite then, and made a number of again."""

import torch
import torch.nn.functional as F

from verdict.torch import Program

SIZE = 4


def program(ctx, kept, to):
    """kept: whether the ranks keep the count from zero. to: what is made of the mean."""
    weight, x, mask = torch.nn.Parameter(torch.randn(SIZE)), torch.randn(SIZE), torch.randint(0, 2, (SIZE,))

    def step():
        count = mask.sum()
        loss = to((weight * x).sum() / (count.clamp(min=1) if kept and ctx.world > 1 else count), count)
        loss.backward()
        return loss

    return Program({"x": x, "mask": mask}, {"weight": weight}, step, ranges={"mask": (0, 1)})


def saturated(mean, count):
    return torch.tanh(mean)


def inverted(mean, count):
    return 1 / (1 + mean * mean)


def as_it_is(mean, count):
    return mean.square()


def masked(mean, count):
    return torch.where(count > 0, mean, torch.zeros_like(mean))


def build_mean(ctx):
    """Right: where nothing is left the single-device program has no value, and no gradient."""
    return program(ctx, True, as_it_is)


def build_masked(ctx):
    return program(ctx, True, masked)


def build_alike(ctx):
    return program(ctx, False, saturated)


def build_saturated(ctx):
    """Wrong where nothing is left: one device makes one of an infinite mean."""
    return program(ctx, True, saturated)


def build_inverted(ctx):
    """Wrong where nothing is left: one device makes zero of an infinite mean."""
    return program(ctx, True, inverted)


def labelled(ctx, single, parallel):
    """Class 3 is no label. single, parallel: what is made of logits and labels on one device, and on each rank."""
    weight, x = torch.nn.Parameter(torch.randn(2, SIZE)), torch.randn(SIZE, 2)
    y = torch.randint(0, SIZE, (SIZE,))

    def step():
        loss = (single if ctx.world == 1 else parallel)(x @ weight, y)
        loss.backward()
        return loss

    return Program({"x": x, "y": y}, {"weight": weight}, step, ranges={"y": (0, SIZE - 1)})


def ignored(logits, y):
    return F.cross_entropy(logits, y, ignore_index=3)


def ignored_kept(logits, y):
    return F.cross_entropy(logits, y, ignore_index=3, reduction="sum") / (y != 3).sum().clamp(min=1)


def multiplied(logits, y):
    kept = (y != 3).to(logits.dtype)
    return (F.cross_entropy(logits, y, reduction="none") * kept).sum() / kept.sum()


def build_ignored(ctx):
    """Right where the loss is a number: of no labels it is none, and one device says that the gradient is 0."""
    return labelled(ctx, ignored, multiplied)


def build_ignored_kept(ctx):
    """Wrong of no labels: one device has a loss there, 0."""
    return labelled(ctx, ignored_kept, multiplied)
