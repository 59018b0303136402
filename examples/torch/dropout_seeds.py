"""Dropout as it is drawn: from which states of the generators, and what that means for data and tensor parallel ranks.

Ranks that hold different rows, or different features, must drop them by masks of their own; ranks that hold copies must
drop them by one mask. The first is proved under the assumption `masks-by-law`, the second needs none.

verdict torch examples/torch/dropout_seeds.py:ddp
verdict torch examples/torch/dropout_seeds.py:ddp_same_seed
verdict torch examples/torch/dropout_seeds.py:tensor_parallel
verdict torch examples/torch/dropout_seeds.py:tensor_parallel_seeds
verdict torch examples/torch/dropout_seeds.py:tracked
"""

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

from verdict.torch import Step

SEED = 1


class Network(nn.Module):
    """Dropout of an activation that all tensor parallel ranks have, in a block that is computed again."""

    restored = True
    """Whether the recomputation restores the state that the forward pass drew from."""

    def __init__(self):
        super().__init__()
        self.up, self.down, self.drop = nn.Linear(4, 8), nn.Linear(8, 4), nn.Dropout(0.1)

    def block(self, x):
        return self.drop(self.down(torch.relu(self.up(x))))

    def forward(self, x):
        return x + checkpoint(self.block, x, use_reentrant=False, preserve_rng_state=self.restored)


class Wide(Network):
    """Dropout of the inner features, too, which tensor parallel ranks divide.

    apart: what a rank adds to the seed for these, as Megatron's tracker of random states does.
    """

    apart = 0

    def block(self, x):
        inner = torch.relu(self.up(x))
        with torch.random.fork_rng(devices=()):
            torch.manual_seed(100 + self.apart)
            inner = functional.dropout(inner, 0.5)
        return self.drop(self.down(inner))


def seeded(module):
    torch.manual_seed(SEED)
    return module()


def network():
    return seeded(Network)


def wide():
    return seeded(Wide)


def batch():
    return {"x": torch.randn(8, 4), "target": torch.randn(8, 4)}


def loss(output, batch):
    return functional.mse_loss(output, batch["target"])


def own_seeds(model, mesh):
    torch.manual_seed(SEED + mesh.get_rank())
    return DistributedDataParallel(model)


def same_seed(model, mesh):
    """Wrong: all ranks go on with the seed of the weights, and drop their rows by one mask."""
    return DistributedDataParallel(model)


def own_seeds_sharded(model, mesh):
    torch.manual_seed(SEED + mesh.get_rank())
    return fully_shard(model, mesh=mesh["dp"])


def divided(model, mesh):
    return parallelize_module(model, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})


def divided_own_seeds(model, mesh):
    """Wrong: each rank drops its copy by a mask of its own."""
    torch.manual_seed(SEED + mesh.get_rank())
    return divided(model, mesh)


def not_restored(model, mesh):
    """Wrong: the backward pass drops other elements than the forward pass."""
    model.restored = False
    return own_seeds(model, mesh)


def divided_tracked(model, mesh):
    model.apart = mesh.get_rank()
    return divided(model, mesh)


def both_tracked(model, mesh):
    """Copies are of one data parallel rank's state, the features of the rank's own."""
    torch.manual_seed(SEED + mesh["dp"].get_local_rank())
    model.apart = mesh.get_rank()
    return fully_shard(divided(model, mesh), mesh=mesh["dp"])


def both_by_rank(model, mesh):
    """Wrong: all ranks draw from states of their own, also those that hold copies."""
    sharded = both_tracked(model, mesh)
    torch.manual_seed(SEED + mesh.get_rank())
    return sharded


ddp = Step(network, own_seeds, batch, {"dp": 2}, loss)
ddp_same_seed = Step(network, same_seed, batch, {"dp": 2}, loss)
ddp_not_restored = Step(network, not_restored, batch, {"dp": 2}, loss)
fsdp = Step(network, own_seeds_sharded, batch, {"dp": 2}, loss)
tensor_parallel = Step(network, divided, batch, {"tp": 2}, loss)
tensor_parallel_seeds = Step(network, divided_own_seeds, batch, {"tp": 2}, loss)
tracked = Step(wide, divided_tracked, batch, {"tp": 2}, loss)
fsdp_tracked = Step(wide, both_tracked, batch, {"dp": 2, "tp": 2}, loss)
fsdp_by_rank = Step(wide, both_by_rank, batch, {"dp": 2, "tp": 2}, loss)
tracked_alike = Step(wide, divided, batch, {"tp": 2}, loss)
"""Wrong: unlike features are dropped by one mask."""
