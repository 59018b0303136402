"""Programs under DistributedDataParallel whose communication hooks are torch's or their own."""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 2


def program(ctx, hook=None, state=None):
    model = nn.Linear(SIZE, SIZE)
    batch = {name: torch.randn(ROWS // ctx.world, SIZE) for name in ("x", "target")}
    wrapped = model if hook is None else DistributedDataParallel(model)
    if hook is not None:
        wrapped.register_comm_hook(state, hook)

    def step():
        loss = functional.mse_loss(wrapped(batch["x"]), batch["target"])
        loss.backward()
        return loss

    specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
    return Program(inputs=batch, params=model, step=step, specs=specs, loss=mean(ctx.rank, ctx.world))


def begun(bucket):
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future()


def done(tensor):
    found = torch.futures.Future()
    found.set_result(tensor)
    return found


def divided(group, bucket):
    return begun(bucket).then(lambda future: future.value()[0] / dist.get_world_size())


def divided_before(group, bucket):
    bucket.buffer().div_(dist.get_world_size())
    return begun(bucket).then(lambda future: future.wait()[0])


def waited(group, bucket):
    return done(begun(bucket).wait()[0] / dist.get_world_size())


def summed(group, bucket):
    return begun(bucket).then(lambda future: future.value()[0])


def early(group, bucket):
    """What arrives is read before it is waited for."""
    begun(bucket)
    return done(bucket.buffer() / dist.get_world_size())


def kept(group, bucket):
    return done(bucket.buffer())


def by_rank_0(group, bucket):
    """All ranks take the gradients of rank 0."""
    return dist.broadcast(bucket.buffer(), 0, async_op=True).get_future().then(lambda future: future.value()[0])


def build_single(ctx):
    return program(ctx)


def build_all_reduce(ctx):
    return program(ctx, default_hooks.allreduce_hook)


def build_compressed(ctx):
    return program(ctx, default_hooks.fp16_compress_hook)


def build_wrapped(ctx):
    return program(ctx, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook))


def build_power(ctx):
    """Gradients are summed as they are in the first two steps."""
    return program(ctx, powerSGD_hook, PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2))


def build_divided(ctx):
    return program(ctx, divided)


def build_divided_before(ctx):
    return program(ctx, divided_before)


def build_waited(ctx):
    return program(ctx, waited)


def build_summed(ctx):
    return program(ctx, summed)


def build_early(ctx):
    return program(ctx, early)


def build_kept(ctx):
    return program(ctx, kept)


def build_by_rank_0(ctx):
    return program(ctx, by_rank_0)


def build_no_future(ctx):
    return program(ctx, lambda state, bucket: bucket.buffer())
