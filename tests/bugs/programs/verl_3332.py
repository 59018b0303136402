"""The loss of a microbatch is not divided by the number of microbatches.

world 1
"""

import torch
from torch import nn

from verdict.torch import Program

STEPS = 2


def program(microbatches, divisor):
    x = torch.randn(4, 3)
    model = nn.Linear(3, 1, bias=False)

    def step():
        total = 0.0
        for rows in x.chunk(microbatches):
            loss = model(rows).square().mean() / divisor  # place
            loss.backward()
            total = total + loss.detach()
        return total

    return Program({"x": x}, model, step)


def build_single(ctx):
    return program(1, 1)


def build_right(ctx):
    return program(STEPS, STEPS)


def build(ctx):
    return program(STEPS, 1)
