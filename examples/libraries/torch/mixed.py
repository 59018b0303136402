"""Blocks in mixed precision: FSDP2's policies, weights that wait in the memory of the host, DDP under autocast."""

import torch
from blocks import BATCH, SIZE, Block, adam
from torch import nn
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, OffloadPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step

BF16, FP32 = torch.bfloat16, torch.float32


def model():
    return nn.Sequential(Block(), Block(), nn.Linear(SIZE, SIZE))


def rows():
    return {name: torch.randn(BATCH, SIZE) for name in ("input", "target")}


def loss(output, batch):
    return nn.functional.mse_loss(output.float(), batch["target"])


def doubled(output, batch):
    return 2 * loss(output, batch)


def sharded(offload=None, divide=None, **dtypes):
    """divide: what gradients are divided by, in place of the number of ranks."""

    def parallelize(net, mesh):
        how = {"mesh": mesh, "offload_policy": offload or OffloadPolicy()}
        for block in net[:2]:
            fully_shard(block, mp_policy=MixedPrecisionPolicy(**dtypes), **how)
        fully_shard(net, mp_policy=MixedPrecisionPolicy(**dtypes, output_dtype=FP32), **how)
        for part in (net, *net[:2]):
            if divide:
                part.set_gradient_divide_factor(divide)
        return net

    return parallelize


def autocast(net, mesh):
    net.forward = torch.autocast("cpu", dtype=BF16)(net.forward)
    return DistributedDataParallel(net)


def step(parallelize, loss=loss, mesh=None):
    return Step(model, parallelize, rows, mesh or {"dp": 2}, loss, adam, data=tuple(mesh or {"dp": 2}))


MIXED, REPLICAS = {"param_dtype": BF16, "reduce_dtype": FP32}, {"replicate": 2, "shard": 2}
HOST = CPUOffloadPolicy(pin_memory=False)
fsdp2_mixed, fsdp2_mixed_added = step(sharded(**MIXED)), step(sharded(**MIXED, divide=1.0))
fsdp2_halves, fsdp2_halves_doubled = step(sharded(param_dtype=BF16)), step(sharded(param_dtype=BF16), doubled)
fsdp2_host, fsdp2_host_added = step(sharded(HOST, **MIXED)), step(sharded(HOST, 1.0, **MIXED))
replicas_mixed = step(sharded(**MIXED), mesh=REPLICAS)
replicas_mixed_shards = step(sharded(**MIXED, divide=2.0), mesh=REPLICAS)
ddp_autocast, ddp_autocast_doubled = step(autocast), step(autocast, doubled)
