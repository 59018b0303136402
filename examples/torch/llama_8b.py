"""A Llama of the sizes of Llama-3-8B under tensor and sequence parallelism, its loss on sharded logits, AdamW.

LAYERS=2 verdict torch examples/torch/llama_8b.py --world 8
WIDTHS=405B verdict torch examples/torch/llama_8b.py --world 8
"""

import os

import llama
import llama_tp_sp
import torch

WIDTHS = {
    "8B": llama.Sizes(vocab=128256, dim=4096, heads=32, groups=8, ffn=14336, layers=32, batch=1, seq=8192),
    "405B": llama.Sizes(vocab=128256, dim=16384, heads=128, groups=8, ffn=53248, layers=126, batch=1, seq=8192),
}
MODEL = WIDTHS[os.environ.get("WIDTHS", "8B")]
SIZES = MODEL._replace(layers=int(os.environ.get("LAYERS", MODEL.layers)))


def trained(model, **more):
    return llama.train(model, optimizer=torch.optim.AdamW(model.parameters(), lr=3e-4), **more)


def build_single(ctx):
    return trained(llama.Llama(SIZES))


def parallel(ctx, **more):
    model = llama_tp_sp.parallelize(llama.Llama(SIZES), llama_tp_sp.mesh_of(ctx), **more)
    return llama_tp_sp.with_loss_parallel(trained(model))


def build(ctx):
    return parallel(ctx)


def build_norm_weights_not_reduced(ctx):
    """Wrong: each rank keeps the gradient that its own rows give the norm weights, and takes it for the whole."""
    return parallel(ctx, norm=llama_tp_sp.LocalNorm)
