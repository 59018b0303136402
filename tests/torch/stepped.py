"""Functions for one call of verdict.torch.verify."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Halved(nn.Module):
    """A wrapper that halves what it wraps gives."""

    def __init__(self, inner):
        super().__init__()
        self.module = DistributedDataParallel(inner)

    def forward(self, input):
        return self.module(input) / 2


def model():
    return nn.Linear(3, 2)


def batch():
    return {"input": torch.randn(4, 3)}


def loss(output, batch):
    return output.square().mean()


def sgd(params):
    return torch.optim.SGD(params, lr=0.1)


def wrapped(model, mesh):
    return DistributedDataParallel(model)


def wrapped_and_halved(model, mesh):
    return Halved(model)
