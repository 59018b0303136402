"""Orders of what may be no number, as logarithms are, written in two ways; and of numbers. For tests."""

import torch

from verdict.torch import Program

BOUNDS = (0.5, 1.0, 2.0)


def program(of, whole=False):
    """A weight times what is made of an input, whose own numbers are greater than zero. whole: of integers."""
    x, weight = torch.rand(5) + 0.5, torch.nn.Parameter(torch.rand(1) + 0.5)
    x = torch.arange(0, 10, 2) if whole else x

    def step():
        loss = (weight * of(x)).sum()
        loss.backward()
        return loss

    return Program(inputs={"x": x}, params={"weight": weight}, step=step)


def above(x):
    return (x[:, None] > torch.tensor(BOUNDS)).sum(1)


PAIRS = {
    "median": (lambda x: torch.kthvalue(x, 3)[0], torch.median),
    "sorted": (lambda x: x.sort()[0][:2], lambda x: -(-x).topk(2)[0]),
    "bounds": (lambda x: torch.bucketize(x, torch.tensor(BOUNDS)), above),
}
"""By name: what is the same of numbers. Of rows of which some element is none it is not."""
WHOLE = {
    "last_bit": (lambda x: x << 63 != 0, lambda x: x % 2 != 0, lambda x: x < x - 1),
}
"""By name: what is the same of integers, and what is so of those of the recorded run alone."""


def _builders():
    for name, (one, other) in PAIRS.items():
        yield f"{name}_single", lambda ctx, one=one: program(one)
        yield f"{name}_right", lambda ctx, other=other: program(other)
        yield f"{name}_of_logarithms_single", lambda ctx, one=one: program(lambda x: one(x.log()))
        yield f"{name}_of_logarithms_right", lambda ctx, one=one: program(lambda x: one(x.log().clone()))
        yield f"{name}_of_logarithms_wrong", lambda ctx, other=other: program(lambda x: other(x.log()))
    for name, (one, other, wrong) in WHOLE.items():
        yield f"{name}_single", lambda ctx, one=one: program(one, True)
        yield f"{name}_right", lambda ctx, other=other: program(other, True)
        yield f"{name}_wrong", lambda ctx, wrong=wrong: program(wrong, True)


globals().update({f"build_{name}": build for name, build in _builders()})
