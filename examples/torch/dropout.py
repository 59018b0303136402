"""Dropout whose masks are inputs: which masks the ranks draw is the program's promise, and what follows is proved.

What is drawn at random while a program is recorded is not followed. A program that is verified takes its masks as
inputs, and says in `specs` which part of the single-device mask each rank draws: for whole activations all ranks the
same one, for shards each rank its own.

verdict torch examples/torch/dropout.py --world 2
verdict torch examples/torch/dropout.py:build_same_masks --world 2
"""

import torch
from mlp_megatron import BATCH, FFN, HIDDEN, CopyToRanks, Parallel, Perceptron, ReduceFromRanks
from torch.nn import functional

from verdict.torch import Program, piece, shard

KEPT = 0.9


def dropped(x, mask):
    """Dropout of x by a mask of ones and zeros."""
    return x * mask / KEPT


class Single(Perceptron):
    def forward(self, x, inner, outer):
        return x + dropped(self.down(dropped(functional.relu(self.up(self.first(x))), inner)), outer)


class Ranks(Parallel):
    """`inner` is of the rank's hidden features, `outer` of an activation that every rank has."""

    def forward(self, x, inner, outer):
        entered = CopyToRanks.apply(self.first(x), False)
        return x + dropped(ReduceFromRanks.apply(self.down(dropped(functional.relu(self.up(entered)), inner))), outer)


def program(model, width, specs):
    inputs = {"x": (BATCH, HIDDEN), "target": (BATCH, HIDDEN), "inner": (BATCH, width), "outer": (BATCH, HIDDEN)}
    x, target, inner, outer = tensors = [torch.randn(shape) for shape in inputs.values()]

    def step():
        loss = functional.mse_loss(model(x, inner, outer), target)
        loss.backward()
        return loss

    return Program(inputs=dict(zip(inputs, tensors, strict=True)), params=model, step=step, specs=specs)


def build_single(ctx):
    return program(Single(), FFN, {})


def parallel(ctx, **masks):
    specs = {"up.weight": shard(0, ctx.rank, ctx.world), "down.weight": shard(1, ctx.rank, ctx.world)}
    return program(Ranks(ctx.world), FFN // ctx.world, {**specs, **masks})


def build(ctx):
    return parallel(ctx, inner=shard(1, ctx.rank, ctx.world))


def build_same_masks(ctx):
    """Wrong: all ranks draw the same mask, from one seed, for hidden features that are not the same."""
    return parallel(ctx, inner=piece(1, 0, FFN // ctx.world, FFN))
