"""accelerate: prepare, backward, accumulate and clip, of a Llama of transformers under DistributedDataParallel."""

import torch
from accelerate import Accelerator
from transformers import LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard

VOCAB, SEQ, BATCH = 16, 4, 8
SIZES = {
    "vocab_size": VOCAB, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": SEQ,
}  # fmt: skip


def program(ctx, parts=1, clip=None, through=True, scale=1):
    """One step of `parts` microbatches. through: whether the backward pass goes through the accelerator, which divides
    by them.
    """
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=parts)
    plain = LlamaForCausalLM(LlamaConfig(**SIZES))
    model, adam = accelerator.prepare(plain, torch.optim.AdamW(plain.parameters(), lr=0.01))
    rows = BATCH // ctx.world // parts
    batches = [{name: torch.randint(VOCAB, (rows, SEQ)) for name in ("input_ids", "labels")} for _ in range(parts)]

    def step():
        losses = []
        for batch in batches:
            with accelerator.accumulate(model):
                losses.append(model(**batch).loss)
                loss = losses[-1] * scale if scale != 1 else losses[-1]
                accelerator.backward(loss) if through else loss.backward()
                if clip is not None and accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), clip)
                adam.step()
        return sum(losses) / parts

    named = {f"{name}.{k}": tensor for k, batch in enumerate(batches) for name, tensor in batch.items()}
    specs = {name: shard(0, ctx.rank, ctx.world) for name in named}
    ranges = {name: (0, VOCAB - 1) for name in named if name.startswith("labels")}
    more = {"optimizer": adam.optimizer, "specs": specs, "ranges": ranges, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=named, params=plain, step=step, **more)


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


def build_accumulated_single(ctx):
    return program(ctx, parts=2)


def build_accumulated(ctx):
    return program(ctx, parts=2)


def build_accumulated_past(ctx):
    """loss.backward() in the place of accelerator.backward(loss): nobody divides by the microbatches."""
    return program(ctx, parts=2, through=False)
