"""Clipping by the global norm, with AdamW, where gradients are DTensors: tensor and sequence parallel, and FSDP2.

verdict torch examples/torch/llama_clip.py --world 2
verdict torch examples/torch/llama_clip.py:build_fsdp2 --world 2
"""

import llama
import llama_fsdp2
import llama_tp_sp
import torch
from torch.nn.utils import clip_grad_norm_, clip_grads_with_norm_, get_total_norm

from verdict.torch import mean, shard

MOST = 0.1


def global_norm(params):
    """The norm is a DTensor, too: a partial one, which is added up where it is needed."""
    clip_grad_norm_(params, MOST)


def local_norm(params):
    """Wrong: each rank divides by the norm of what it holds of the gradients."""
    params = list(params)
    clip_grads_with_norm_(params, MOST, get_total_norm([param.grad.to_local() for param in params]))


def program(model, clip=global_norm, **more):
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)
    return llama.train(model, optimizer=adam, clip=clip, loss_of=llama.token_loss, **more)


def build_single(ctx):
    return program(llama.Llama())


def tensor_parallel(ctx, clip):
    model = llama_tp_sp.parallelize(llama.Llama(), llama_tp_sp.mesh_of(ctx))
    return llama_tp_sp.with_loss_parallel(program(model, clip))


def fully_sharded(ctx, clip):
    model, batch = llama_fsdp2.sharded(ctx, llama.BATCH)
    rows = shard(0, ctx.rank, ctx.world)
    return program(model, clip, batch=batch, specs={"tokens": rows, "targets": rows}, loss=mean(ctx.rank, ctx.world))


def build(ctx):
    return tensor_parallel(ctx, global_norm)


def build_local_norm(ctx):
    return tensor_parallel(ctx, local_norm)


def build_fsdp2(ctx):
    return fully_sharded(ctx, global_norm)


def build_fsdp2_local_norm(ctx):
    return fully_sharded(ctx, local_norm)
