"""Functions for one call of verdict.torch.verify."""

import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
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


def to_zero(output, batch):
    return nn.functional.mse_loss(output, torch.zeros_like(output))


AIMED = Step(model, sharded, batch, {"dp": 2}, to_zero, sgd)
AIMED_AND_SUMMED = Step(model, sharded_and_summed, batch, {"dp": 2}, to_zero, sgd)


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


class Inner(nn.Module):
    """Parts whose names hold those of wrappers."""

    def __init__(self):
        super().__init__()
        self.submodule, self.module = nn.Linear(3, 3), nn.Linear(3, 2)

    def forward(self, input):
        return self.module(torch.tanh(self.submodule(input)))


class Outer(nn.Module):
    """A wrapper that takes any argument."""

    def __init__(self, inner):
        super().__init__()
        self.module = inner

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


class Named(nn.Module):
    """A wrapper of another name."""

    def __init__(self, inner):
        super().__init__()
        self.model = inner

    def forward(self, input):
        return self.model(input)


def labelled():
    return {**batch(), "target": torch.randn(4, 2)}


def to_target(output, batch):
    return nn.functional.mse_loss(output, batch["target"])


def outside(model, mesh):
    return Outer(DistributedDataParallel(model))


def around(model, mesh):
    return Named(DistributedDataParallel(model))


def piece_by_piece(model, mesh):
    model.submodule, model.module = (DistributedDataParallel(each) for each in (model.submodule, model.module))
    return model


def one_piece(model, mesh):
    """Wrong: nobody averages the gradients of the other one."""
    model.module = DistributedDataParallel(model.module)
    return model


OUTSIDE = Step(Inner, outside, labelled, {"dp": 2}, to_target, sgd)
AROUND = Step(Inner, around, labelled, {"dp": 2}, to_target, sgd)
PIECES = Step(Inner, piece_by_piece, labelled, {"dp": 2}, to_target, sgd)
ONE_PIECE = Step(Inner, one_piece, labelled, {"dp": 2}, to_target, sgd)


def total(output, batch):
    return output.square().sum()


SUM = Step(model, sharded_and_summed, batch, {"dp": 2}, total, sgd, summed=True)
SUM_AVERAGED = Step(model, sharded, batch, {"dp": 2}, total, sgd, summed=True)
SUM_TAKEN_FOR_MEAN = Step(model, sharded_and_summed, batch, {"dp": 2}, total, sgd)


def flat(model, mesh):
    return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))


FLAT = Step(model, flat, batch, {"dp": 2}, loss, sgd)


def half_frozen():
    made = Inner()
    made.submodule.requires_grad_(False)
    return made


def thawed(model, mesh):
    return DistributedDataParallel(model.requires_grad_(True))


THAWED = Step(half_frozen, thawed, labelled, {"dp": 2}, to_target, sgd)


def divided_otherwise(model, mesh):
    """Wrong: the ranks reduce by different operations."""
    found = sharded(model, mesh)
    found.set_gradient_divide_factor(2.0 + 2.0 * mesh.get_rank())
    return found


DIVIDED_OTHERWISE = Step(model, divided_otherwise, batch, {"dp": 2}, loss, sgd)
