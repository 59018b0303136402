"""Llama under FSDP2: parameters sharded, gathered before they are used, gradients reduced and scattered.

verdict torch examples/torch/llama_fsdp2.py --world 2
"""

import llama
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from verdict.torch import mean, shard


def build_single(ctx):
    model = llama.Llama()
    return llama.train(model, optimizer=torch.optim.AdamW(model.parameters(), lr=0.01), loss_of=llama.token_loss)


def sharded(ctx, batch):
    mesh = init_device_mesh("cpu", (ctx.world,), mesh_dim_names=("dp",))
    model = llama.Llama()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, batch // ctx.world


def parallel(ctx, loss_of=llama.token_loss, prepare=lambda model: None):
    model, batch = sharded(ctx, llama.BATCH)
    prepare(model)
    rows = shard(0, ctx.rank, ctx.world)
    return llama.train(
        model,
        batch,
        optimizer=torch.optim.AdamW(model.parameters(), lr=0.01),
        specs={"tokens": rows, "targets": rows},
        loss=mean(ctx.rank, ctx.world),
        loss_of=loss_of,
    )


def build(ctx):
    """Each rank has the loss of its own tokens; FSDP averages the gradients."""
    return parallel(ctx)


def build_mean_of_means(ctx):
    """Wrong: each rank takes the mean over those of its tokens that are not ignored, which are unequally many."""
    return parallel(ctx, llama.cross_entropy)


def build_loss_scale(ctx):
    """Wrong: the loss is divided by the number of ranks although FSDP averages the gradients."""
    return parallel(ctx, lambda logits, targets: llama.token_loss(logits, targets) / ctx.world)


def build_summed(ctx):
    """Wrong: FSDP is told to sum the gradients instead."""

    def prepare(model):
        for part in (*model.layers, model):
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)

    return parallel(ctx, prepare=prepare)
