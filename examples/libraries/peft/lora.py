"""peft: low-rank adapters on a Llama of transformers: DistributedDataParallel, FSDP2, tensor parallelism of its own."""

import torch
from peft import LoraConfig, get_peft_model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.distributed import DistributedConfig

from verdict.torch import Program, mean, shard

VOCAB, SEQ, BATCH = 16, 4, 4
SIZES = {
    "vocab_size": VOCAB, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": SEQ,
}  # fmt: skip


def adapted(make=lambda model: model, heads=1, targets=("q_proj", "v_proj")):
    """make: what is made of the model before adapters are put in."""
    config = LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=list(targets))
    return get_peft_model(make(LlamaForCausalLM(LlamaConfig(**{**SIZES, "num_key_value_heads": heads}))), config)


def program(ctx, model, wrapped, scale=1, ranks=None):
    """ranks: that divide the batch; default: all."""
    ranks = ranks or ctx.world
    batch = {name: torch.randint(VOCAB, (BATCH // ranks, SEQ)) for name in ("input_ids", "labels")}
    adam = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.01)

    def step():
        loss = wrapped(**batch).loss
        (loss * scale if scale != 1 else loss).backward()
        adam.step()
        return loss

    part = ctx.rank if ranks > 1 else 0
    specs = {name: shard(0, part, ranks) for name in batch}
    more = {"optimizer": adam, "specs": specs, "ranges": {"labels": (0, VOCAB - 1)}, "loss": mean(part, ranks)}
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


def tensor_parallel(model):
    """By the library that the model is of."""
    config, _, meshes = model.prepare_distribute_model(DistributedConfig(tp_size=2))
    return model.maybe_distribute_model(model, config, meshes)


ROWS_TOO = ("q_proj", "v_proj", "o_proj")


def build_tp_single(ctx):
    model = adapted(heads=2, targets=ROWS_TOO)
    return program(ctx, model, model)


def build_tp(ctx, scale=1):
    model = adapted(tensor_parallel, heads=2, targets=ROWS_TOO)
    return program(ctx, model, model, scale, ranks=1)


def build_tp_scaled(ctx):
    """The loss is divided by the ranks again."""
    return build_tp(ctx, 0.5)
