"""Data parallelism by hand: gradients in one flat bucket, averaged over the ranks; AdamW.

verdict torch examples/torch/ddp_manual.py --world 2
"""

import torch
import torch.distributed as dist
from mlp_megatron import BATCH, HIDDEN, Perceptron
from torch.nn import functional

from verdict.torch import Program, mean, shard


def program(ctx, reduce=None, scale=1.0, optimizer=True, clip=False):
    rows = BATCH // ctx.world
    model = Perceptron()
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)
    adam = torch.optim.AdamW(model.parameters(), lr=0.1) if optimizer else None

    def step():
        loss = functional.mse_loss(model(x), target) * scale
        loss.backward()
        if reduce is not None:
            reduce(list(model.parameters()))
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if adam is not None:
            adam.step()
        return loss

    part = shard(0, ctx.rank, ctx.world)
    specs = {"x": part, "target": part} if ctx.world > 1 else {}
    loss = mean(ctx.rank, ctx.world)
    return Program(inputs={"x": x, "target": target}, params=model, step=step, optimizer=adam, specs=specs, loss=loss)


def average(params, group=None, divisor=None):
    """All gradients, in one bucket, become their mean over the ranks."""
    bucket = torch.cat([param.grad.flatten() for param in params])
    bucket.div_(divisor or dist.get_world_size())
    dist.all_reduce(bucket, group=group)
    start = 0
    for param in params:
        param.grad.copy_(bucket[start : start + param.numel()].view_as(param))
        start += param.numel()


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx, average)


def build_wrong_group(ctx):
    """Wrong: pairs of ranks agree among themselves only. For 4 ranks."""
    pairs = [dist.new_group([first, first + 1]) for first in range(0, ctx.world, 2)]
    return program(ctx, lambda params: average(params, pairs[ctx.rank // 2]))


def build_missing_reduction(ctx):
    """Wrong: every rank trains on its own gradients."""
    return program(ctx)


def build_loss_scale(ctx):
    """Wrong: gradients are summed where they should be averaged."""
    return program(ctx, lambda params: average(params, divisor=1))


def build_overwritten(ctx):
    """Wrong: the last parameter's gradient is taken from the beginning of the bucket."""

    def reduce(params):
        average(params)
        params[-1].grad.copy_(params[0].grad.flatten().repeat(2).view_as(params[-1]))

    return program(ctx, reduce)
