"""Causal language models of the library transformers, as they are, with the library's own mean loss: one small layer.

verdict torch examples/torch/from_transformers.py:build_gpt2 --single build_gpt2_single --world 2
verdict torch examples/torch/from_transformers.py:build_llama --single build_llama_single --world 2 --tensors real
"""

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard

VOCAB, DIM, HEADS, BATCH, SEQ = 16, 8, 2, 4, 4


def gpt2():
    sizes = {"vocab_size": VOCAB, "n_embd": DIM, "n_head": HEADS, "n_layer": 1, "n_positions": SEQ}
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return GPT2LMHeadModel(GPT2Config(**sizes, **drops, use_cache=False))


def llama():
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "intermediate_size": 2 * DIM, "max_position_embeddings": SEQ}
    heads = {"num_attention_heads": HEADS, "num_key_value_heads": HEADS, "num_hidden_layers": 1}
    return LlamaForCausalLM(LlamaConfig(**sizes, **heads, use_cache=False, attn_implementation="eager"))


def program(ctx, model, wrapped):
    """One step of AdamW on the model's own loss of `wrapped`, which is the model or what was made of it."""
    inputs = {"tokens": torch.randint(VOCAB, (BATCH // ctx.world, SEQ))}
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        loss = wrapped(input_ids=inputs["tokens"], labels=inputs["tokens"]).loss
        loss.backward()
        adam.step()
        return loss

    rows, loss = {"tokens": shard(0, ctx.rank, ctx.world)}, mean(ctx.rank, ctx.world)
    return Program(inputs=inputs, params=model, step=step, optimizer=adam, specs=rows, loss=loss)


def build_gpt2_single(ctx):
    model = gpt2()
    return program(ctx, model, model)


def build_gpt2(ctx):
    """GPT-2 under FSDP2."""
    model, mesh = gpt2(), init_device_mesh("cpu", (ctx.world,))
    for layer in model.transformer.h:
        fully_shard(layer, mesh=mesh)
    return program(ctx, fully_shard(model, mesh=mesh), model)


def build_llama_single(ctx):
    model = llama()
    return program(ctx, model, model)


def build_llama(ctx):
    """Llama under DistributedDataParallel."""
    model = llama()
    return program(ctx, model, DistributedDataParallel(model, broadcast_buffers=False))
