"""A router's scores become a local tensor that does not say that its gradient is partial.

world 2
place gate
"""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate

from verdict.torch import Program, partial, shard

TOKENS, HIDDEN, EXPERTS = 3, 4, 2


def program(ctx, local, whole):
    own = EXPERTS // ctx.world
    x = torch.randn(TOKENS, HIDDEN)
    gate, experts = nn.Parameter(whole(torch.randn(EXPERTS, HIDDEN))), nn.Parameter(torch.randn(own, HIDDEN))

    def step():
        scores = local(torch.softmax(whole(x) @ gate.t(), -1))  # place
        mine = scores[:, ctx.rank * own : (ctx.rank + 1) * own]
        loss = (mine * (x @ experts.t())).sum()
        loss.backward()
        return loss.detach()

    specs, loss = {"experts": shard(0, ctx.rank, ctx.world)}, partial(ctx.rank, ctx.world)
    return Program({"x": x}, {"gate": gate, "experts": experts}, step, specs=specs, loss=loss)


def replicated(ctx):
    mesh = init_device_mesh("cpu", (ctx.world,))
    return lambda tensor: DTensor.from_local(tensor, mesh, [Replicate()])


def build_single(ctx):
    return program(ctx, lambda scores: scores, lambda tensor: tensor)


def build_right(ctx):
    return program(ctx, lambda scores: scores.to_local(grad_placements=[Partial()]), replicated(ctx))


def build(ctx):
    return program(ctx, lambda scores: scores.to_local(), replicated(ctx))
