"""Under loss_parallel, a log softmax that no cross entropy reads has the identity for its gradient (PyTorch 2.13).

world 2
place words
"""

from contextlib import nullcontext

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import loss_parallel

from verdict.torch import Program, shard

TOKENS, HIDDEN, WORDS = 2, 3, 4


def program(ctx, loss_of, around=nullcontext):
    x, words = torch.randn(TOKENS, HIDDEN), nn.Parameter(torch.randn(WORDS // ctx.world, HIDDEN))

    def step():
        with around():
            loss = loss_of(x @ words.t())
            loss.backward()
        return loss.detach()

    return Program({"x": x}, {"words": words}, step, specs={"words": shard(0, ctx.rank, ctx.world)})


def sharded(ctx, logits):
    return DTensor.from_local(logits, init_device_mesh("cpu", (ctx.world,)), [Shard(1)])


def build_single(ctx):
    return program(ctx, lambda logits: logits.log_softmax(-1).square().sum())


def build_right(ctx):
    """The logits are gathered in front of the softmax."""

    def loss_of(logits):
        whole = sharded(ctx, logits).redistribute(placements=[Replicate()])
        return whole.to_local().log_softmax(-1).square().sum()

    return program(ctx, loss_of)


def build(ctx):
    def loss_of(logits):
        logp = sharded(ctx, logits).log_softmax(-1)  # place
        return logp.square().sum().full_tensor()

    return program(ctx, loss_of, loss_parallel)
