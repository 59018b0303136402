"""accelerate: prepare, backward and clip of a Llama of transformers under FSDP2, by its plugin."""

import torch
from accelerate import Accelerator
from accelerate.utils import FullyShardedDataParallelPlugin
from data_parallel import BATCH, SEQ, SIZES, VOCAB
from transformers import LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard


def sharded():
    """An accelerator with its plugin for FSDP2."""
    policy = {"auto_wrap_policy": "transformer_based_wrap", "transformer_cls_names_to_wrap": ["LlamaDecoderLayer"]}
    return Accelerator(cpu=True, fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=2, **policy))


def program(ctx, accelerator, scale=1):
    plain = LlamaForCausalLM(LlamaConfig(**SIZES))
    model, adam = accelerator.prepare(plain, torch.optim.AdamW(plain.parameters(), lr=0.01))
    batch = {name: torch.randint(VOCAB, (BATCH // ctx.world, SEQ)) for name in ("input_ids", "labels")}

    def step():
        loss = model(**batch).loss
        accelerator.backward(loss * scale if scale != 1 else loss)
        adam.step()
        return loss

    specs, ranges = {name: shard(0, ctx.rank, ctx.world) for name in batch}, {"labels": (0, VOCAB - 1)}
    more = {"optimizer": adam.optimizer, "specs": specs, "ranges": ranges, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=model, step=step, **more)


def build_single(ctx):
    return program(ctx, Accelerator(cpu=True))


def build(ctx):
    return program(ctx, sharded())


def build_scaled(ctx):
    """The loss is divided by the ranks again."""
    return program(ctx, sharded(), 0.5)
