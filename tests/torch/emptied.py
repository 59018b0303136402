"""A mean over what a mask leaves, which may be nothing: what is infinite then, and made a number of again."""

import torch

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
