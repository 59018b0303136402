"""accelerate: a loader and a schedule that it prepares, two steps of a small network, under DistributedDataParallel."""

import torch
from accelerate import Accelerator, DataLoaderConfiguration
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from verdict.torch import Program

ROWS, BATCH, SIZE = 8, 4, 4


def program(ctx, split=True):
    """split: whether the loader's batch is that of all ranks, which divide it. Else each rank has such a batch, and the
    schedule goes on by as many steps as there are ranks.
    """
    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(split_batches=split))
    x, target = torch.randn(ROWS, SIZE), torch.randn(ROWS, SIZE)
    plain = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, SIZE))
    sgd = torch.optim.SGD(plain.parameters(), lr=0.1)
    halved = torch.optim.lr_scheduler.StepLR(sgd, 1, gamma=0.5)
    rows = DataLoader(TensorDataset(x, target), batch_size=BATCH if split else BATCH // ctx.world)
    model, optimizer, loader, schedule = accelerator.prepare(plain, sgd, rows, halved)

    def step():
        for batch, wanted in loader:
            optimizer.zero_grad()
            accelerator.backward(nn.functional.mse_loss(model(batch), wanted))
            optimizer.step()
            schedule.step()

    return Program(inputs={"x": x, "target": target}, params=plain, step=step)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_scheduled_twice(ctx):
    """The rows of each step are the same, and its learning rate is halved once for each rank."""
    return program(ctx, split=False)
