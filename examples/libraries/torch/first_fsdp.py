"""The first FSDP in its modes: gradients alone sharded, shards within groups of replicas, nothing sharded."""

from contextlib import nullcontext

import torch
from blocks import Block, loss_of, numbered, rows, sgd
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy

from verdict.torch import Program, mean, shard


def by_norm(wrapped, norm=0.5):
    nn.utils.clip_grad_norm_(wrapped.parameters(), norm)


def by_another_norm(wrapped):
    by_norm(wrapped, 0.25)


def by_whole_norm(wrapped):
    wrapped.clip_grad_norm_(0.5)


def own(model):
    return model


def named(wrapped):
    """The whole weights, by name."""
    whole = isinstance(wrapped, FullyShardedDataParallel)
    with FullyShardedDataParallel.summon_full_params(wrapped) if whole else nullcontext():
        return {
            name.removeprefix("_fsdp_wrapped_module."): w.detach().clone() for name, w in wrapped.named_parameters()
        }


def program(ctx, wrap=own, scale=1.0, parts=1, clip=lambda wrapped: None):
    """One step of what `wrap` makes of a model, in the step, as it cuts the weights at places of its own.

    scale: what losses are multiplied by before their gradients are taken. parts: microbatches, of which the last one
    alone communicates. clip: what clips the gradients.
    """
    batches, after, model = [rows(ctx.world) for _ in range(parts)], {}, Block()
    weights = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    def step():
        model = Block()
        model.load_state_dict(weights)
        wrapped, losses = wrap(model), []
        stepper = sgd(wrapped.parameters())
        for batch in batches:
            quiet = wrapped is not model and batch is not batches[-1]
            with wrapped.no_sync() if quiet else nullcontext():
                losses.append(loss_of(wrapped, batch) / parts)
                (losses[-1] * scale).backward()
        clip(wrapped)
        stepper.step()
        after.update({f"new {name}": weight for name, weight in named(wrapped).items()})
        return sum(losses)

    inputs = numbered(batches)
    specs = {name: shard(0, ctx.rank, ctx.world) for name in inputs}
    more = {"specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=inputs, params=weights, step=step, outputs=lambda: after, **more)


def builder(strategy=None, sizes=None, **more):
    """A builder. strategy: how it is sharded; None on one device. sizes: of the mesh, replicas first."""

    def wrap(model):
        names = ("copy", "shard")
        mesh = {} if sizes is None else {"device_mesh": init_device_mesh("cpu", sizes, mesh_dim_names=names)}
        how = {"use_orig_params": True, "device_id": torch.device("cpu"), "sharding_strategy": strategy}
        return FullyShardedDataParallel(model, **how, **mesh)

    return lambda ctx: program(ctx, own if strategy is None else wrap, **more)


GRADIENTS, WHOLE = ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.FULL_SHARD
HYBRID, NOTHING = ShardingStrategy.HYBRID_SHARD, ShardingStrategy.NO_SHARD
plain_single, clipped_single, accumulated_single = builder(), builder(clip=by_norm), builder(parts=2)
gradients_clipped = builder(GRADIENTS, clip=by_whole_norm)
gradients_clipped_by_part = builder(GRADIENTS, clip=by_norm)
nothing_clipped, nothing_clipped_otherwise = builder(NOTHING, clip=by_norm), builder(NOTHING, clip=by_another_norm)
hybrid, hybrid_scaled = builder(HYBRID, (2, 2)), builder(HYBRID, (2, 2), scale=4.0)
accumulated, accumulated_added = builder(WHOLE, parts=2), builder(WHOLE, parts=2, scale=2.0)
