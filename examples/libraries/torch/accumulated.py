"""Two microbatches of a step: when gradients are reduced, under DistributedDataParallel, FSDP2 and `replicate`."""

import contextlib

from blocks import SIZE, Block, adam, loss_of, numbered, rows
from torch import nn
from torch.distributed._composable import replicate
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

PARTS, REPLICAS = 2, {"replicate": 2, "shard": 2}


def net():
    return nn.Sequential(Block(), Block(), nn.Linear(SIZE, SIZE))


def at_once(wrapped, last):
    """Gradients of every microbatch are reduced."""
    return contextlib.nullcontext()


def accumulated(ctx, model, wrapped, reducing=at_once, clip=None, each=False, divided=PARTS):
    """reducing: the context of a microbatch, which may be the last. each: whether each microbatch is clipped, in place
    of the step. divided: what losses are divided by.
    """
    stepper, batches = adam(model.parameters()), [rows(ctx.world) for _ in range(PARTS)]

    def step():
        losses = []
        for number, batch in enumerate(batches, 1):
            with reducing(wrapped, number == PARTS):
                loss = loss_of(wrapped, batch) / divided
                loss.backward()
            losses.append(loss.detach())
            if clip is not None and (each or number == PARTS):
                nn.utils.clip_grad_norm_(model.parameters(), clip)
        stepper.step()
        return sum(losses)

    inputs = numbered(batches)
    more = {"specs": dict.fromkeys(inputs, shard(0, ctx.rank, ctx.world)), "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=inputs, params=model, optimizer=stepper, step=step, **more)


def single(**more):
    def build(ctx):
        model = net()
        return accumulated(ctx, model, model, **more)

    return build


def ddp(reducing=at_once, **more):
    def build(ctx):
        model = net()
        return accumulated(ctx, model, DistributedDataParallel(model), reducing, **more)

    return build


def replicas(reducing=at_once, **more):
    def build(ctx):
        model = net()
        wrapped = replicate(model, device_mesh=init_device_mesh("cpu", (ctx.world,)))
        return accumulated(ctx, model, wrapped, reducing, **more)

    return build


def fsdp2(reducing=at_once, keep=False, mesh=None, **more):
    """keep: whether weights stay gathered between the passes."""

    def build(ctx):
        model, sizes = net(), mesh or {"shard": ctx.world}
        of = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
        for part in (*model[:2], model):
            fully_shard(part, mesh=of, reshard_after_forward=not keep)
        return accumulated(ctx, model, model, reducing, **more)

    return build


def but_last(wrapped, last):
    return contextlib.nullcontext() if last else wrapped.no_sync()


def but_first(wrapped, last):
    return wrapped.no_sync() if last else contextlib.nullcontext()


def told(wrapped, last):
    """FSDP2 is told before each microbatch whether to reduce."""
    wrapped.set_requires_gradient_sync(last)
    return contextlib.nullcontext()


def told_otherwise(wrapped, last):
    wrapped.set_requires_gradient_sync(not last)
    return contextlib.nullcontext()


def between_replicas(wrapped, last):
    """Shards are reduced in each microbatch, replicas in the last one."""
    wrapped.set_requires_all_reduce(last)
    wrapped.set_is_last_backward(last)
    return contextlib.nullcontext()


def never_between(wrapped, last):
    wrapped.set_requires_all_reduce(False)
    return contextlib.nullcontext()


plain_single, clipped_single = single(), single(clip=0.3)
ddp_no_sync, ddp_no_sync_last = ddp(but_last), ddp(but_first)
ddp_clipped, ddp_clipped_each = ddp(but_last, clip=0.3), ddp(but_last, clip=0.3, each=True)
replicate_each, replicate_undivided = replicas(), replicas(divided=1)
fsdp2_told, fsdp2_told_otherwise = fsdp2(told), fsdp2(told_otherwise)
fsdp2_kept, fsdp2_kept_undivided = fsdp2(told, keep=True), fsdp2(told, keep=True, divided=1)
hybrid_told, hybrid_never = fsdp2(between_replicas, mesh=REPLICAS), fsdp2(never_between, mesh=REPLICAS)
