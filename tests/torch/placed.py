"""A DTensor of which ranks have parts, while each has all of its gradient."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from verdict.torch import Program


def placed(ctx, softmax):
    """A parameter that ranks cut, whose gradient all of them have: a softmax over what is cut gathers it."""
    torch.manual_seed(0)
    given, x, scale = torch.randn(6, 6), torch.randn(4, 6), torch.arange(6.0)
    if ctx.world == 1:
        weight = nn.Parameter(given)
    else:
        mesh = init_device_mesh("cpu", (ctx.world,))
        weight = nn.Parameter(distribute_tensor(given, mesh, [Shard(0)]))

    def step():
        if ctx.world == 1:
            loss = ((x @ weight.t()).softmax(-1) * scale).square().sum()
        else:
            whole = placing(mesh, Replicate())
            loss = (softmax(whole(x) @ weight.t()) * whole(scale)).square().sum().full_tensor()
        loss.backward()
        return loss

    return Program(inputs={"x": x}, params={"w": weight}, step=step)


def placing(mesh, placement):
    return lambda tensor: DTensor.from_local(tensor, mesh, [placement])


def build_placed_single(ctx):
    return placed(ctx, None)


def build_placed_right(ctx):
    return placed(ctx, lambda scores: scores.softmax(-1))


def build_placed(ctx):
    """The softmax of what each rank has."""
    return placed(ctx, lambda scores: placing(scores.device_mesh, Shard(1))(scores.to_local().softmax(-1)))
