"""DistributedDataParallel with communication hooks, local SGD, and ranks that have different numbers of batches."""

import torch.distributed as dist
from blocks import Block, adam, loss_of, numbered, rows, sgd, trained
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard


def single(optimizer=adam, **more):
    """The builder of the single-device program."""

    def build(ctx):
        model = Block()
        return trained(ctx, model, model, optimizer(model.parameters()), **more)

    return build


def hooked(hook, state=lambda: None, **more):
    """The builder of the program under DistributedDataParallel with a communication hook."""

    def build(ctx):
        model = Block()
        wrapped = DistributedDataParallel(model)
        wrapped.register_comm_hook(state(), hook)
        return trained(ctx, model, wrapped, adam(model.parameters()), **more)

    return build


def summed(state, bucket):
    """Gradients are added, and nobody divides them."""
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0])


def low_rank():
    """Gradients are summed as they are for two steps, before they are compressed."""
    return PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)


def local(optimizer):
    """The builder of the program whose ranks step by gradients of their own, and average their models after it."""

    def build(ctx):
        model = Block()
        wrapped = DistributedDataParallel(model)
        alone = PostLocalSGDState(None, dist.new_subgroups(1)[0], start_localSGD_iter=0)
        wrapped.register_comm_hook(alone, post_localSGD_hook)
        averager = PeriodicModelAverager(period=1, warmup_steps=0)
        return trained(ctx, model, wrapped, PostLocalSGDOptimizer(optimizer(model.parameters()), averager))

    return build


def uneven(ctx, factor=1.0):
    """Two steps, of which the second is rank 0's alone: on one device, on half of the loss of its batch.

    factor: what that loss is multiplied by before its gradients are taken.
    """
    model = Block()
    wrapped, stepper = (DistributedDataParallel(model) if ctx.world > 1 else model), sgd(model.parameters())
    batches = [rows(ctx.world), rows(2)] if ctx.rank == 0 else [rows(ctx.world)]

    def step():
        losses = [0.0]
        for batch in batches:
            losses.append(loss_of(wrapped, batch))
            (losses[-1] * (factor if len(losses) > 2 else 1.0)).backward()
            stepper.step()
            stepper.zero_grad()
        return losses[1]

    def joined():
        with Join([wrapped]):
            return step()

    specs = {name: shard(0, ctx.rank, ctx.world) for name in ("x.0", "target.0")}
    more = {"optimizer": stepper, "specs": specs, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=numbered(batches), params=model, step=joined if ctx.world > 1 else step, **more)


def uneven_single(ctx):
    return uneven(ctx, 0.5)


def uneven_joined(ctx):
    return uneven(ctx)


def uneven_joined_doubled(ctx):
    """Rank 0 doubles its loss, since it is alone; the single-device program has half of it."""
    return uneven(ctx, 2.0)


adam_single, sgd_single = single(), single(sgd)
compressed, compressed_summed = hooked(default_hooks.fp16_compress_hook), hooked(summed)
power_single, power = single(steps=2), hooked(powerSGD_hook, low_rank, steps=2)
power_scaled = hooked(powerSGD_hook, low_rank, steps=2, scale=2.0)
local_sgd, local_adam = local(sgd), local(adam)
