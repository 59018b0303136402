"""The loss is divided by the tokens of the whole batch, and by the number of microbatches besides.

world 1
place weight
"""

import torch
from torch import nn

from verdict.torch import Program

ROWS, STEPS = 4, 2


def program(microbatches, divisor):
    x = torch.randn(ROWS, 3)
    model = nn.Linear(3, 1, bias=False)

    def step():
        total = 0.0
        for rows in x.chunk(microbatches):
            loss = model(rows).square().sum() / ROWS
            loss = loss / divisor  # place
            loss.backward()
            total = total + loss.detach()
        return total

    return Program({"x": x}, model, step)


def build_single(ctx):
    return program(1, 1)


def build_right(ctx):
    return program(STEPS, 1)


def build(ctx):
    return program(STEPS, STEPS)
