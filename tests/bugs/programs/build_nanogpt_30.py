"""The flag that asks for the reduction is set behind the forward pass, which is where it is looked at.

world 2
tensors real
place weight
"""

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

STEPS, HIDDEN = 2, 4


def program(ctx, wrap, early):
    rows = 4 // ctx.world
    names = [f"{name}{number}" for number in range(STEPS) for name in ("x", "target")]
    inputs = {name: torch.randn(rows, HIDDEN) for name in names}
    model = nn.Linear(HIDDEN, HIDDEN, bias=False)
    wrapped = wrap(model)

    def step():
        total = 0.0
        for number in range(STEPS):
            last = number == STEPS - 1
            if early:
                wrapped.require_backward_grad_sync = last
            loss = functional.mse_loss(wrapped(inputs[f"x{number}"]), inputs[f"target{number}"]) / STEPS
            wrapped.require_backward_grad_sync = last
            loss.backward()  # place
            total = total + loss.detach()
        return total

    part = shard(0, ctx.rank, ctx.world)
    specs, loss = dict.fromkeys(names, part), mean(ctx.rank, ctx.world)
    return Program(inputs=inputs, params=model, step=step, specs=specs, loss=loss)


def build_single(ctx):
    return program(ctx, lambda model: model, early=True)


def build_right(ctx):
    return program(ctx, DistributedDataParallel, early=True)


def build(ctx):
    """The flag of the step before is False where the last forward pass looks at it."""

    def wrap(model):
        wrapped = DistributedDataParallel(model)
        wrapped.require_backward_grad_sync = False
        return wrapped

    return program(ctx, wrap, early=False)
