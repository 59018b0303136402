"""Shards that the program cuts itself out of a checkpoint: which region each rank holds is found by a probe.

verdict torch examples/torch/hand_cut.py --world 2
"""

import mlp_megatron
import torch
from mlp_megatron import Parallel, Perceptron

from verdict.torch import probe

build_single = mlp_megatron.build_single


def load(model, whole, rank, world, at=0):
    """Each rank keeps its rows of `up` and the columns of `down` that meet them."""
    with torch.no_grad():
        model.first.weight.copy_(whole.first.weight)
        model.up.weight.copy_(whole.up.weight.chunk(world)[rank])
        model.down.weight.copy_(whole.down.weight.chunk(world, dim=1)[(rank + at) % world])
    return model


def program(ctx, **options):
    specs = probe(Perceptron, lambda whole: load(Parallel(ctx.world), whole, ctx.rank, ctx.world, **options))
    return mlp_megatron.program(Parallel(ctx.world), specs)


def build(ctx):
    return program(ctx)


def build_wrong_chunk(ctx):
    """Wrong: each rank keeps its neighbour's columns of `down`."""
    return program(ctx, at=1)
