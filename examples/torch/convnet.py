"""A small convolutional network under DistributedDataParallel with its defaults: convolutions, a norm, pooling, SGD.

verdict torch examples/torch/convnet.py --world 2 --tensors real
verdict torch examples/torch/convnet.py:build_batch_norm --single build_batch_norm_single --world 2 --tensors real
"""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

BATCH, CLASSES = 4, 3


def network(norm):
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, stride=2, padding=1), norm, nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, padding=1, groups=2, bias=False), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, CLASSES),
    )  # fmt: skip


def program(ctx, model, own=1):
    """One step of SGD. own: what each rank divides its loss by."""
    wrapped = DistributedDataParallel(model) if ctx.world > 1 else model
    images, labels = torch.randn(BATCH // ctx.world, 3, 8, 8), torch.randint(CLASSES, (BATCH // ctx.world,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step():
        loss = functional.cross_entropy(wrapped(images), labels)
        (loss / own).backward()
        optimizer.step()
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    more = {"specs": {"images": rows, "labels": rows}, "loss": mean(ctx.rank, ctx.world)}
    inputs, ranges = {"images": images, "labels": labels}, {"labels": (0, CLASSES - 1)}
    return Program(inputs=inputs, params=model, step=step, optimizer=optimizer, ranges=ranges, **more)


def build_single(ctx):
    return program(ctx, network(nn.GroupNorm(2, 4)))


def build(ctx):
    return program(ctx, network(nn.GroupNorm(2, 4)))


def build_loss_scale(ctx):
    """DistributedDataParallel takes the mean, and so does each rank."""
    return program(ctx, network(nn.GroupNorm(2, 4)), own=ctx.world)


def build_batch_norm_single(ctx):
    return program(ctx, network(nn.BatchNorm2d(4)))


def build_batch_norm(ctx):
    """Each rank normalises by the mean and the variance of its own images."""
    return program(ctx, network(nn.BatchNorm2d(4)))


def build_frozen_norm_single(ctx):
    return program(ctx, network(nn.BatchNorm2d(4).eval()))


def build_frozen_norm(ctx):
    """The batch norm has its running statistics."""
    return program(ctx, network(nn.BatchNorm2d(4).eval()))
