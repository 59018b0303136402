"""peft: low-rank adapters on a Llama of transformers, under DistributedDataParallel and FSDP2."""

from contextlib import nullcontext

import torch
from peft import LoraConfig, get_peft_model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM

from verdict.torch import Program, mean, shard

VOCAB, SEQ, BATCH = 16, 4, 4
SIZES = {
    "vocab_size": VOCAB, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": SEQ,
}  # fmt: skip


def adapted():
    config = LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=["q_proj", "v_proj"])
    return get_peft_model(LlamaForCausalLM(LlamaConfig(**SIZES)), config)


def program(ctx, model, wrapped, scale=1, divided=True):
    """One step of AdamW on the adapters. divided: whether each rank has its part of the batch."""
    part = (ctx.rank, ctx.world) if divided else (0, 1)
    batch = {name: torch.randint(VOCAB, (BATCH // part[1], SEQ)) for name in ("input_ids", "labels")}
    adam = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.01)

    def step():
        loss = wrapped(**batch).loss
        (loss * scale if scale != 1 else loss).backward()
        adam.step()
        return loss

    specs = {name: shard(0, *part) for name in batch} if divided else {}
    more = {"optimizer": adam, "specs": specs, "ranges": {"labels": (0, VOCAB - 1)}, "loss": mean(*part)}
    return Program(inputs=batch, params=model, step=step, **more)


def build_single(ctx):
    model = adapted()
    return program(ctx, model, model)


def build_ddp(ctx):
    model = adapted()
    return program(ctx, model, DistributedDataParallel(model))


def build_ddp_one_half(ctx):
    """One half of each adapter is kept out of the reduction, as what is not synchronised is in other models."""
    model = adapted()
    halves = [name for name, _ in model.named_parameters() if "lora_A" in name]
    DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, halves)
    return program(ctx, model, DistributedDataParallel(model))


def build_fsdp2(ctx, scale=1):
    model, mesh = adapted(), init_device_mesh("cpu", (ctx.world,))
    for layer in model.base_model.model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return program(ctx, model, model, scale)


def build_fsdp2_scaled(ctx):
    """The loss is divided by the ranks again."""
    return build_fsdp2(ctx, 0.5)


def accumulated(ctx, model, wrapped, parts=2, divided=True):
    """One step of two microbatches, of which the last alone is reduced. divided: whether losses are by the parts."""
    rows = BATCH // ctx.world // parts
    batches = [{name: torch.randint(VOCAB, (rows, SEQ)) for name in ("input_ids", "labels")} for _ in range(parts)]
    adam = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.01)

    def step():
        losses = []
        for k, batch in enumerate(batches):
            held = wrapped.no_sync() if k + 1 < parts and ctx.world > 1 else nullcontext()
            with held:
                losses.append(wrapped(**batch).loss / (parts if divided else 1))
                losses[-1].backward()
        adam.step()
        return sum(losses)

    named = {f"{name}.{k}": x for k, batch in enumerate(batches) for name, x in batch.items()}
    specs = {name: shard(0, ctx.rank, ctx.world) for name in named}
    ranges = {name: (0, VOCAB - 1) for name in named if name.startswith("labels")}
    more = {"optimizer": adam, "specs": specs, "ranges": ranges, "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=named, params=model, step=step, **more)


def build_accumulated(ctx):
    model = adapted()
    return accumulated(ctx, model, DistributedDataParallel(model) if ctx.world > 1 else model)


def build_accumulated_added(ctx):
    """Losses of microbatches are added."""
    model = adapted()
    return accumulated(ctx, model, DistributedDataParallel(model), divided=False)
