"""DistributedDataParallel and SGD. Its reducer works on memory, so record it on real tensors.

verdict torch examples/torch/ddp.py --world 2 --tensors real
"""

import torch
from ddp_manual import BATCH, HIDDEN, Perceptron
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard


def program(ctx, wrap, scale=1.0):
    rows = BATCH // ctx.world
    model = Perceptron()
    x, target = torch.randn(rows, HIDDEN), torch.randn(rows, HIDDEN)
    wrapped = wrap(model)
    sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        loss = functional.mse_loss(wrapped(x), target) * scale
        loss.backward()
        sgd.step()
        return loss

    part = shard(0, ctx.rank, ctx.world)
    loss = mean(ctx.rank, ctx.world)
    specs = {"x": part, "target": part}
    return Program(inputs={"x": x, "target": target}, params=model, step=step, optimizer=sgd, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda model: model)


def build(ctx):
    return program(ctx, DistributedDataParallel)


def build_loss_scale(ctx):
    """Wrong: the loss is divided by the number of ranks although DDP averages the gradients."""
    return program(ctx, DistributedDataParallel, scale=1 / ctx.world)


def build_unwrapped(ctx):
    """Wrong: the step uses the module itself, and nothing reduces its gradients."""

    def wrap(model):
        DistributedDataParallel(model)
        return model

    return program(ctx, wrap)
