"""Steps of which what parallelizes the model cuts or changes its weights, right ones and wrong ones."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step

WIDTH = 4


class Copied(torch.autograd.Function):
    """The identity forward, an all-reduce of the gradient backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Summed(torch.autograd.Function):
    """An all-reduce forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(3, WIDTH), nn.Linear(WIDTH, 2, bias=False)

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))


class Cut(nn.Module):
    """The same on some ranks, which keep the columns and rows that `of_up` and `of_down` say, and mark them."""

    def __init__(self, whole, count, of_up, of_down, stride=1):
        super().__init__()
        self.up, self.down = nn.Linear(3, WIDTH // count), nn.Linear(WIDTH // count, 2, bias=False)
        with torch.no_grad():
            self.up.weight.copy_(whole.up.weight.chunk(count)[of_up])
            self.up.bias.copy_(whole.up.bias.chunk(count)[of_up])
            self.down.weight.copy_(whole.down.weight.chunk(count, 1)[of_down])
        for param, dim in ((self.up.weight, 0), (self.up.bias, 0), (self.down.weight, 1)):
            param.tensor_model_parallel, param.partition_dim, param.partition_stride = True, dim, stride

    def forward(self, x):
        return Summed.apply(self.down(torch.tanh(self.up(Copied.apply(x)))))


def batch():
    return {"x": torch.randn(4, 3), "target": torch.randn(4, 2)}


def loss(output, batch):
    return functional.mse_loss(output, batch["target"])


def sgd(params):
    return torch.optim.SGD(params, lr=0.1)


def own(model, mesh):
    rank, count = mesh.get_local_rank("tp"), mesh.size()
    return Cut(model, count, rank, rank)


def neighbours(model, mesh):
    rank, count = mesh.get_local_rank("tp"), mesh.size()
    return Cut(model, count, count - 1 - rank, rank)


def every_second(model, mesh):
    rank, count = mesh.get_local_rank("tp"), mesh.size()
    return Cut(model, count, rank, rank, stride=2)


def _placed(model, mesh, of_down):
    rank, count = mesh.get_local_rank("tp"), mesh.size()
    for layer, dim, at in ((model.up, 0, rank), (model.down, 1, of_down(rank, count))):
        for name, param in list(layer.named_parameters()):
            kept = param.detach().chunk(count, dim)[at].clone()
            setattr(layer, name, nn.Parameter(DTensor.from_local(kept, mesh, [Shard(dim)], run_check=False)))
    forward = model.forward

    def run(x):
        spread = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
        return forward(spread).redistribute(mesh, [Replicate()]).to_local()

    model.forward = run
    return model


def placed(model, mesh):
    return _placed(model, mesh, lambda rank, count: rank)


def misplaced(model, mesh):
    return _placed(model, mesh, lambda rank, count: count - 1 - rank)


def wrapped(model, mesh):
    return DistributedDataParallel(model)


def scaled(model, mesh):
    with torch.no_grad():
        model.down.weight.mul_(2)
    return DistributedDataParallel(model)


def zeroed(model, mesh):
    with torch.no_grad():
        model.up.bias.zero_()
    return fully_shard(model, mesh=mesh["dp"])


def turned(model, mesh):
    """One permutation of all of a layer's units: the same function, of other weights."""
    with torch.no_grad():
        for param, dim in ((model.up.weight, 0), (model.up.bias, 0), (model.down.weight, 1)):
            param.copy_(param.flip(dim))
    return DistributedDataParallel(model)


def of_one_rank(model, mesh):
    """What rank 1 begins with is not the model's, and each rank keeps the shard of its own."""
    with torch.no_grad():
        model.up.weight.add_(mesh.get_local_rank("dp"))
    return fully_shard(model, mesh=mesh["dp"])


cut_own = Step(Network, own, batch, {"tp": 2}, loss, sgd)
cut_neighbours = Step(Network, neighbours, batch, {"tp": 2}, loss, sgd)
cut_every_second = Step(Network, every_second, batch, {"tp": 2}, loss, sgd)
cut_placed = Step(Network, placed, batch, {"tp": 2}, loss, sgd)
cut_misplaced = Step(Network, misplaced, batch, {"tp": 2}, loss, sgd)
kept = Step(Network, wrapped, batch, {"dp": 2}, loss, sgd)
doubled = Step(Network, scaled, batch, {"dp": 2}, loss, sgd)
without_bias = Step(Network, zeroed, batch, {"dp": 2}, loss, sgd)
permuted = Step(Network, turned, batch, {"dp": 2}, loss, sgd)
unlike = Step(Network, of_one_rank, batch, {"dp": 2}, loss, sgd)
