"""Clipping by the global norm, with AdamW: of averaged gradients, and of those of column and row parallel linears.

verdict torch examples/torch/clip.py --world 2
verdict torch examples/torch/clip.py:build_local_norm --world 2
"""

import torch
import torch.distributed as dist
from ddp_manual import average
from mlp_megatron import BATCH, HIDDEN, Parallel, Perceptron
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_, clip_grads_with_norm_, get_total_norm

from verdict.torch import Program, mean, shard

MOST = 0.1
SPLIT = {"up.weight": 0, "down.weight": 1}
"""Weights that tensor parallel ranks share out, and along which dimension."""


def program(model, clip, batch=BATCH, **more):
    x, target = torch.randn(batch, HIDDEN), torch.randn(batch, HIDDEN)
    adam = torch.optim.AdamW(model.parameters(), lr=0.1, foreach=True)

    def step():
        loss = functional.mse_loss(model(x), target)
        loss.backward()
        clip(model)
        adam.step()
        return loss

    return Program(inputs={"x": x, "target": target}, params=model, step=step, optimizer=adam, **more)


def own_norm(model):
    """The norm of the gradients that this process holds."""
    clip_grad_norm_(model.parameters(), MOST, foreach=True)


def build_single(ctx):
    return program(Perceptron(), own_norm)


def data_parallel(ctx, clip):
    rows = shard(0, ctx.rank, ctx.world)
    specs, loss = {"x": rows, "target": rows}, mean(ctx.rank, ctx.world)
    return program(Perceptron(), clip, BATCH // ctx.world, specs=specs, loss=loss)


def build_ddp(ctx):
    """Gradients are averaged first: then every rank has the norm of all of them."""

    def clip(model):
        average(list(model.parameters()))
        own_norm(model)

    return data_parallel(ctx, clip)


def build_ddp_clipped_first(ctx):
    """Wrong: each rank clips the gradients of its own rows, and what is clipped is averaged."""

    def clip(model):
        own_norm(model)
        average(list(model.parameters()))

    return data_parallel(ctx, clip)


def tensor_parallel(ctx, clip):
    specs = {name: shard(dim, ctx.rank, ctx.world) for name, dim in SPLIT.items()}
    return program(Parallel(ctx.world), clip, specs=specs)


def build(ctx):
    """The squares of shards are added up over the ranks, those of what every rank has are counted once."""

    def clip(model):
        grads = {name: param.grad for name, param in model.named_parameters()}
        squares = get_total_norm([grads[name] for name in SPLIT]) ** 2
        dist.all_reduce(squares)
        squares += get_total_norm([grad for name, grad in grads.items() if name not in SPLIT]) ** 2
        clip_grads_with_norm_(model.parameters(), MOST, squares.sqrt())

    return tensor_parallel(ctx, clip)


def build_local_norm(ctx):
    """Wrong: each rank divides by the norm of its own shards."""
    return tensor_parallel(ctx, own_norm)


def build_counted_twice(ctx):
    """Wrong: what every rank has is counted once for each rank."""

    def clip(model):
        squares = get_total_norm([param.grad for param in model.parameters()]) ** 2
        dist.all_reduce(squares)
        clip_grads_with_norm_(model.parameters(), MOST, squares.sqrt())

    return tensor_parallel(ctx, clip)
