"""Each microbatch's loss is divided by its own number of tokens, and by the number of microbatches.

world 1
missed code
"""

import torch
from torch import nn

from verdict.torch import Program

STEPS = 2


def program(microbatches, tokens):
    x, mask = torch.randn(4, 3), torch.rand(4, 1)
    model = nn.Linear(3, 1, bias=False)

    def step():
        total = 0.0
        for rows, kept in zip(x.chunk(microbatches), mask.chunk(microbatches), strict=True):
            loss = (model(rows).square() * kept).sum()
            loss = loss / tokens(mask, kept)  # place
            loss.backward()
            total = total + loss.detach()
        return total

    return Program({"x": x, "mask": mask}, model, step)


def of_all(mask, kept):
    return mask.sum()


def of_own(mask, kept):
    return kept.sum() * STEPS  # place


def build_single(ctx):
    return program(1, of_all)


def build_right(ctx):
    return program(STEPS, of_all)


def build(ctx):
    return program(STEPS, of_own)
