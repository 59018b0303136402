"""Gradients that were accumulated are dropped between two microbatches.

world 1
place weight
"""

import torch
from torch import nn

from verdict.torch import Program


def program(microbatches, prepare=None):
    x = torch.randn(4, 3)
    model = nn.Linear(3, 2, bias=False)

    def step():
        total = 0.0
        for rows in x.chunk(microbatches):
            if prepare is not None:
                prepare(model)
            loss = model(rows).square().sum()
            loss.backward()  # place
            total = total + loss.detach()
        return total

    return Program({"x": x}, model, step)


def build_single(ctx):
    return program(1)


def build_right(ctx):
    return program(2)


def build(ctx):
    return program(2, lambda model: model.zero_grad())  # place
