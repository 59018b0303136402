"""A Llama under torch's other ways of data parallel training: a sharded optimizer, torch.compile, mixed precision."""

from dataclasses import replace

import models
import torch
from data_parallel import decoder, single
from steps import trained
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel


def zero(parameters, lr):
    return ZeroRedundancyOptimizer(parameters, torch.optim.AdamW, lr=lr)


def sharded_states(ctx, wrap=DistributedDataParallel, **more):
    """Each rank updates some of the weights, and sends them to the others; compared are the states that it has."""
    model = models.llama()
    made = trained(model, wrap(model), ctx.rank, ctx.world, optimizer=zero, **more)
    return replace(made, optimizer=made.optimizer.optim)


def sharded_states_unreduced(ctx):
    """Nobody reduces the gradients: the optimizer does not."""
    return sharded_states(ctx, lambda model: model)


def compiled(ctx, **more):
    model = models.llama()
    wrapped = torch.compile(DistributedDataParallel(model), backend="eager")
    return trained(model, wrapped, ctx.rank, ctx.world, **more)


def compiled_scaled(ctx):
    return compiled(ctx, scale=0.5)


def mixed(ctx, **more):
    """Computed in 16 bits, gradients added in 32."""
    model, mesh = models.llama(), init_device_mesh("cpu", (ctx.world,))
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in decoder(model):
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return trained(model, model, ctx.rank, ctx.world, **more)


def mixed_scaled(ctx):
    return mixed(ctx, scale=0.5)


llama_single = single(models.llama)
