"""One call for a model, what parallelizes it, a batch and a mesh: data parallel, FSDP2, tensor parallel, and both.

verdict torch examples/torch/one_call.py:fsdp
verdict torch examples/torch/one_call.py:forgotten
"""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def batch():
    return {"x": torch.randn(8, 4), "target": torch.randn(8, 2)}


def loss(output, batch):
    return functional.mse_loss(output, batch["target"])


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def wrapped(model, mesh):
    return DistributedDataParallel(model)


def sharded(model, mesh):
    return fully_shard(model, mesh=mesh["dp"])


def tensor_parallel(model, mesh):
    return parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})


def both(model, mesh):
    return sharded(tensor_parallel(model, mesh), mesh)


def untouched(model, mesh):
    """Nobody averages the gradients."""
    return model


ddp = Step(Network, wrapped, batch, {"dp": 2}, loss, adam)
fsdp = Step(Network, sharded, batch, {"dp": 2}, loss, adam, clip=0.5)
tp = Step(Network, tensor_parallel, batch, {"tp": 2}, loss, adam)
fsdp_tp = Step(Network, both, batch, {"dp": 2, "tp": 2}, loss, adam)
forgotten = Step(Network, untouched, batch, {"dp": 2}, loss, adam)
