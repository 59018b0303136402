"""Functions for one call of verdict.torch.verify."""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step


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


def sharded(model, mesh):
    return fully_shard(model, mesh=mesh["dp"])


def sharded_and_summed(model, mesh):
    """Gradients of the ranks are added, and nobody divides them."""
    found = sharded(model, mesh)
    found.set_gradient_divide_factor(1.0)
    return found


def fused(params):
    return torch.optim.AdamW(params, lr=0.1, fused=True)


FUSED = Step(model, sharded, batch, {"dp": 2}, loss, fused)
FUSED_AND_SUMMED = Step(model, sharded_and_summed, batch, {"dp": 2}, loss, fused)


class Biased(nn.Module):
    """Attention whose key has a bias: its gradient is zero, but for rounding."""

    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(4, 4) for _ in range(4))

    def forward(self, input):
        heads = (each(input).unsqueeze(1) for each in (self.query, self.key, self.value))
        return input + self.out(torch.nn.functional.scaled_dot_product_attention(*heads).squeeze(1))


def biased():
    return nn.Sequential(Biased(), Biased())


def sequences():
    return {"input": torch.randn(4, 3, 4)}


def adam(params):
    return torch.optim.AdamW(params, lr=0.1)


def layer_by_layer(model, mesh):
    for layer in model:
        fully_shard(layer, mesh=mesh["dp"])
    return sharded(model, mesh)


def layer_by_layer_and_summed(model, mesh):
    found = layer_by_layer(model, mesh)
    for each in (*found, found):
        each.set_gradient_divide_factor(1.0)
    return found


BIASED = Step(biased, layer_by_layer, sequences, {"dp": 2}, loss, adam)
BIASED_AND_SUMMED = Step(biased, layer_by_layer_and_summed, sequences, {"dp": 2}, loss, adam)
