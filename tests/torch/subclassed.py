"""Parameters of a class of their own, which says nothing of how operators are dispatched."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, SIZE = 4, 2


class Flat(nn.Parameter):
    """Several parameters in one, and their shapes: as libraries have them that shard."""

    def __new__(cls, parts):
        return super().__new__(cls, torch.cat([part.detach().reshape(-1) for part in parts]))

    def __init__(self, parts):
        self.shapes = [part.shape for part in parts]

    def views(self):
        pieces = self.split([shape.numel() for shape in self.shapes])
        return [piece.view(shape) for piece, shape in zip(pieces, self.shapes, strict=True)]


def program(ctx, reduces=True):
    weight = Flat([torch.randn(SIZE, SIZE), torch.randn(SIZE)])
    batch = {name: torch.randn(ROWS // ctx.world, SIZE) for name in ("x", "target")}
    stepper = torch.optim.AdamW([weight], lr=0.1)

    def step():
        loss = functional.mse_loss(functional.linear(batch["x"], *weight.views()), batch["target"])
        loss.backward()
        if ctx.world > 1 and reduces:
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        stepper.step()
        return loss

    specs = {name: shard(0, ctx.rank, ctx.world) for name in batch}
    return Program(batch, {"weight": weight}, step, optimizer=stepper, specs=specs, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_alone(ctx):
    return program(ctx, reduces=False)
