"""accelerate: what prepare makes of a Llama of transformers with FSDP2, and its backward, against a plain step.

verdict torch FILE.py:build --world 2 --tensors real
"""

import torch
from accelerate import Accelerator, DistributedType, FullyShardedDataParallelPlugin
from data_parallel import BATCH, SEQ, SIZES, VOCAB
from transformers import LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard


def sharding():
    """An accelerator with FSDP2. The library has it for accelerators alone: on a CPU it passes over the plugin."""
    plugin = FullyShardedDataParallelPlugin(
        fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["LlamaDecoderLayer"]
    )
    accelerator = Accelerator(cpu=True)
    accelerator.state.distributed_type, accelerator.state.fsdp_plugin = DistributedType.FSDP, plugin
    return accelerator


def program(ctx, clip=None, scale=1):
    plain = LlamaForCausalLM(LlamaConfig(**SIZES))
    adam = torch.optim.AdamW(plain.parameters(), lr=0.01)
    backward, clipped = torch.Tensor.backward, torch.nn.utils.clip_grad_norm_
    model, optimizer = plain, adam
    if ctx.world > 1:
        accelerator = sharding()
        model, adam = accelerator.prepare(plain, adam)
        backward, clipped, optimizer = accelerator.backward, accelerator.clip_grad_norm_, adam.optimizer
    batch = {name: torch.randint(VOCAB, (BATCH // ctx.world, SEQ)) for name in ("input_ids", "labels")}

    def step():
        loss = model(**batch).loss
        backward(loss * scale if scale != 1 else loss)
        if clip is not None:
            clipped(model.parameters(), clip)
        adam.step()
        return loss

    rows = shard(0, ctx.rank, ctx.world)
    more = {"optimizer": optimizer, "specs": dict.fromkeys(batch, rows), "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=plain, step=step, ranges={"labels": (0, VOCAB - 1)}, **more)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_scaled(ctx):
    """The loss is divided by the ranks again."""
    return program(ctx, scale=0.5)


def build_clipped_single(ctx):
    return program(ctx, clip=0.5)


def build_clipped(ctx):
    return program(ctx, clip=0.5)


def build_clipped_scaled(ctx):
    """The loss is divided by the ranks again, so that less is clipped."""
    return program(ctx, clip=0.5, scale=0.5)
