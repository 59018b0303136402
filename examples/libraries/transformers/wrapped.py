"""A Llama under torch's other ways of data parallel training: the first FSDP, a sharded optimizer, torch.compile."""

from dataclasses import replace

import models
import torch
from data_parallel import decoder, single
from steps import BATCH, texts, trained
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard


def by_norm(wrapped):
    torch.nn.utils.clip_grad_norm_(wrapped.parameters(), 0.5)


def flat(ctx, wrap=lambda model: model, named=dict, clip=by_norm):
    """One step of what `wrap` makes of a model, in the step, as it cuts the weights at places of its own.

    named: the whole weights after it, by name. clip: what clips the gradients of the wrapped model.
    """
    batch, after = texts(BATCH // ctx.world), {}
    weights = {name: weight.detach().clone() for name, weight in models.llama().named_parameters()}

    def step():
        model = models.llama()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.copy_(weights[name])
        wrapped = wrap(model)
        stepper = torch.optim.AdamW(wrapped.parameters(), lr=0.01)
        loss = wrapped(**batch).loss
        loss.backward()
        clip(wrapped)
        stepper.step()
        after.update({f"new {name}": weight for name, weight in named(wrapped).items()})
        return loss

    specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
    more = {"specs": specs, "ranges": {"labels": (0, models.VOCAB - 1)}, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=weights, step=step, outputs=lambda: after, **more)


def held(model):
    return {name: weight.detach() for name, weight in model.named_parameters()}


def gathered(wrapped):
    with FullyShardedDataParallel.summon_full_params(wrapped):
        return {
            name.removeprefix("_fsdp_wrapped_module."): w.detach().clone() for name, w in wrapped.named_parameters()
        }


def first(model):
    return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"))


def by_whole_norm(wrapped):
    wrapped.clip_grad_norm_(0.5)


def clipped_single(ctx):
    return flat(ctx, named=held)


def fsdp1_clipped(ctx):
    return flat(ctx, first, gathered, clip=by_whole_norm)


def fsdp1_clipped_by_part(ctx):
    """Each rank clips at the norm of the gradients that it holds."""
    return flat(ctx, first, gathered)


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
