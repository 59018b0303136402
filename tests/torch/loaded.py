"""Steps that go through a DataLoader, which draws a seed for workers that it does not have."""

import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from verdict.torch import Program

ROWS, SIZE, BATCH = 8, 3, 4


def program(ctx, sampled=True, noise=False):
    """Two steps of SGD. sampled: whether each rank has its rows of a batch. noise: of a kind that has no model."""
    torch.manual_seed(0)
    x, target, model = torch.randn(ROWS, SIZE), torch.randn(ROWS, SIZE), torch.nn.Linear(SIZE, SIZE)
    rows = TensorDataset(x, target)
    sampler = DistributedSampler(rows, ctx.world, ctx.rank, shuffle=False) if sampled else range(ROWS // ctx.world)
    loader = DataLoader(rows, batch_size=BATCH // ctx.world, sampler=sampler)
    called = DistributedDataParallel(model) if ctx.world > 1 else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        for batch, wanted in loader:
            optimizer.zero_grad()
            drawn = torch.empty(SIZE).geometric_(0.5)
            torch.nn.functional.mse_loss(called(batch + drawn if noise else batch), wanted).backward()
            optimizer.step()

    return Program(inputs={"x": x, "target": target}, params=model, step=step)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_same_rows(ctx):
    """Every rank has the first rows of all."""
    return program(ctx, sampled=False)


def build_noisy(ctx):
    return program(ctx, noise=True)
