"""zero_grad is missing: the gradient of the first step is part of the second.

world 1
place weight
"""

import torch
from torch import nn

from verdict.torch import Program

STEPS = 2


def program(clear):
    inputs = {f"x{number}": torch.randn(4, 3) for number in range(STEPS)}
    model = nn.Linear(3, 1, bias=False)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        total = 0.0
        for x in inputs.values():
            if clear:
                sgd.zero_grad()
            loss = model(x).square().mean()
            loss.backward()  # place
            sgd.step()  # place
            total = total + loss.detach()
        return total

    return Program(inputs, model, step)


def build_single(ctx):
    return program(clear=True)


def build_right(ctx):
    return program(clear=True)


def build(ctx):
    return program(clear=False)
