"""accelerate: a loader and a schedule that it prepares, steps of a small network, under DistributedDataParallel."""

import contextlib

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from accelerate.utils import GradientAccumulationPlugin
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from verdict.torch import Program

ROWS, BATCH, SIZE = 8, 4, 4


def program(ctx, split=True, rows=ROWS, clip=None, accumulating=True, **accumulation):
    """split: whether the loader's batch is that of all ranks, which divide it. Else each rank has such a batch, and the
    schedule goes on by as many steps as there are ranks. accumulating: whether the accelerator is told of microbatches.
    accumulation: what its plugin is given.
    """
    plugin = GradientAccumulationPlugin(**{"num_steps": 1, **accumulation})
    loading = DataLoaderConfiguration(split_batches=split)
    accelerator = Accelerator(cpu=True, dataloader_config=loading, gradient_accumulation_plugin=plugin)
    x, target = torch.randn(rows, SIZE), torch.randn(rows, SIZE)
    plain = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, SIZE))
    sgd = torch.optim.SGD(plain.parameters(), lr=0.1)
    halved = torch.optim.lr_scheduler.StepLR(sgd, 1, gamma=0.5)
    given = DataLoader(TensorDataset(x, target), batch_size=BATCH if split else BATCH // ctx.world)
    model, optimizer, loader, schedule = accelerator.prepare(plain, sgd, given, halved)

    def step():
        for batch, wanted in loader:
            with accelerator.accumulate(model) if accumulating else contextlib.nullcontext():
                accelerator.backward(nn.functional.mse_loss(model(batch), wanted))
                if clip is not None and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), clip)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()

    return Program(inputs={"x": x, "target": target}, params=plain, step=step)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_scheduled_twice(ctx):
    """The rows of each step are the same, and its learning rate is halved once for each rank."""
    return program(ctx, split=False)


PARTS = {"num_steps": 2}
THREE = {**PARTS, "rows": 3 * BATCH}
"""A step of two microbatches, and one of one, which the end of the loader makes."""


def build_accumulated_single(ctx):
    return program(ctx, clip=0.3, **THREE)


def build_accumulated(ctx):
    return program(ctx, clip=0.3, **THREE)


def build_accumulated_each(ctx):
    """Gradients are reduced in every microbatch."""
    return program(ctx, clip=0.3, sync_each_batch=True, **THREE)


def build_accumulated_on(ctx):
    """The end of the loader makes no step."""
    return program(ctx, clip=0.3, sync_with_dataloader=False, **THREE)


def build_accumulated_untold(ctx):
    """Nobody calls `accumulate`, so that each microbatch makes a step."""
    return program(ctx, clip=0.3, accumulating=False, **THREE)
