"""Rows that a mask chooses: one of the data, one that is a constant of the program."""

import torch

from verdict.torch import Program


def program(mask):
    weight, x = torch.nn.Parameter(torch.randn(2)), torch.randn(4, 2)
    return Program(inputs={"x": x}, params={"weight": weight}, step=lambda: ((x * weight)[mask(x)]).square().sum())


def build_of_data(ctx):
    return program(lambda x: x[:, 0] > 0)


def build_of_constants(ctx):
    return program(lambda x: torch.tensor([True, False, True, True]))
