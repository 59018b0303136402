"""peft: low-rank adapters on a Llama of transformers under that library's own tensor parallelism.

verdict torch FILE.py:build --world 2 --tensors real
"""

from lora import SIZES, program
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.distributed import DistributedConfig


def adapted(ctx):
    model = LlamaForCausalLM(LlamaConfig(**{**SIZES, "num_key_value_heads": 2}))
    if ctx.world > 1:
        config, _, meshes = model.prepare_distribute_model(DistributedConfig(tp_size=ctx.world))
        model = model.maybe_distribute_model(model, config, meshes)
    config = LoraConfig(r=2, lora_alpha=4, lora_dropout=0.0, target_modules=["q_proj", "v_proj"])
    return get_peft_model(model, config)


def build_single(ctx):
    model = adapted(ctx)
    return program(ctx, model, model, divided=False)


def build(ctx, scale=1):
    model = adapted(ctx)
    return program(ctx, model, model, scale, divided=False)


def build_scaled(ctx):
    """The loss is divided by the ranks again, as if they were data parallel."""
    return build(ctx, 0.5)
