"""Models that are converted while they are built, or in the step."""

import copy

import torch
import torch.distributed as dist

from verdict.torch import Program, mean, shard

ROWS = 8


def program(ctx, built=lambda model: model, within=lambda model: None):
    torch.manual_seed(0)
    layers = (torch.nn.Conv2d(2, 3, 2), torch.nn.Tanh(), torch.nn.Flatten(), torch.nn.Linear(12, 2))
    model, x = torch.nn.Sequential(*layers), torch.randn(ROWS // ctx.world, 2, 3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model = built(model)

    def step():
        loss = model(x).square().mean()
        loss.backward()
        within(model)
        for weight in model.parameters() if ctx.world > 1 else ():
            dist.all_reduce(weight.grad)
            weight.grad /= ctx.world
        optimizer.step()
        return loss

    given = {"inputs": {"x": x}, "params": model, "specs": {"x": shard(0, ctx.rank, ctx.world)}}
    return Program(step=step, optimizer=optimizer, loss=mean(ctx.rank, ctx.world), **given)


def build_single(ctx):
    return program(ctx)


def build_device(ctx):
    return program(ctx, lambda model: model.to("cpu"))


def build_wider(ctx):
    return program(ctx, lambda model: model.double().to(torch.get_default_dtype()))


def build_channels_last(ctx):
    return program(ctx, lambda model: model.to(memory_format=torch.channels_last))


def build_copied(ctx):
    """Another model, of which the optimizer knows nothing, has its numbers."""
    return program(ctx, copy.deepcopy)


def build_copied_single(ctx):
    return program(ctx, copy.deepcopy)


def build_within(ctx):
    """Gradients are converted, too, and the optimizer goes on with the same parameters."""
    return program(ctx, within=lambda model: model.double().to(torch.get_default_dtype()))


def build_doubled(ctx):
    return program(ctx, within=lambda model: model._apply(lambda tensor: tensor * 2))


def build_empty(ctx):
    """New parameters, of which the optimizer knows nothing."""
    return program(ctx, lambda model: model.to("meta").to_empty(device="cpu"))


def build_elsewhere(ctx):
    return program(ctx, lambda model: model.to("cuda"))
