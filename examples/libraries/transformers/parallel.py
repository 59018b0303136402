"""The library's own parallelism, by its DistributedConfig: tensor parallel, FSDP, and both; expert parallel."""

from types import MappingProxyType

import models
from data_parallel import single
from steps import shifted, trained
from transformers.distributed import DistributedConfig


def distributed(make, data=1, more=MappingProxyType({}), **sizes):
    """The builder of the program that the library makes for a DistributedConfig of these sizes. more: of the step."""

    def build(ctx):
        model = make()
        config, _, meshes = model.prepare_distribute_model(DistributedConfig(**sizes))
        model = model.maybe_distribute_model(model, config, meshes)
        return trained(model, model, ctx.rank * data // ctx.world, data, **more)

    return build


llama_single, qwen3_single = single(models.llama), single(models.qwen3)
mixtral_single, qwen3_moe_single = single(models.mixtral, inputs=shifted), single(models.qwen3_moe, inputs=shifted)
llama_tp, qwen3_tp = distributed(models.llama, tp_size=2), distributed(models.qwen3, tp_size=2)
llama_fsdp = distributed(models.llama, data=2, fsdp_size=2)
llama_fsdp_tp = distributed(models.llama, data=2, fsdp_size=2, tp_size=2)
llama_tp_scaled = distributed(models.llama, tp_size=2, more={"scale": 0.5})
qwen3_tp_norms = distributed(models.qwen3, tp_size=2, tp_plan={"model.layers.*.self_attn.q_norm": "replicate"})
llama_fsdp_scaled = distributed(models.llama, data=2, more={"scale": 0.5}, fsdp_size=2)
llama_fsdp_tp_scaled = distributed(models.llama, data=2, more={"scale": 0.25}, fsdp_size=2, tp_size=2)
SHIFTED, SCALED = {"inputs": shifted}, {"inputs": shifted, "scale": 0.5}
TRAVEL = {"fsdp_size": 2, "ep_size": 2}
"""Tokens of each rank's own travel to the experts by all-to-all."""
SUMMED = {"tp_size": 2, "ep_size": 2, "ep_implementation": "all_reduce"}
"""All ranks have all tokens, and what their experts make is added up."""
mixtral_ep = distributed(models.mixtral, 2, SHIFTED, **TRAVEL)
mixtral_ep_scaled = distributed(models.mixtral, 2, SCALED, **TRAVEL)
mixtral_summed = distributed(models.mixtral, more=SHIFTED, **SUMMED)
mixtral_summed_scaled = distributed(models.mixtral, more=SCALED, **SUMMED)
qwen3_moe_ep = distributed(models.qwen3_moe, 2, SHIFTED, **TRAVEL)
qwen3_moe_ep_scaled = distributed(models.qwen3_moe, 2, SCALED, **TRAVEL)
olmo2_single, olmo2_tp = single(models.olmo2), distributed(models.olmo2, tp_size=2)
phi3_single, phi3_tp = single(models.phi3), distributed(models.phi3, tp_size=2)
phi3_tp_scaled = distributed(models.phi3, tp_size=2, more={"scale": 0.5})
olmo2_tp_scaled = distributed(models.olmo2, tp_size=2, more={"scale": 0.5})


def untied(make):
    """A builder of the model with heads for all ranks, whose embedding and last layer have weights of their own: of one
    that they share the library looks for a layer "lm_head.weight", and ends with a KeyError.
    """
    return lambda: make(tie_word_embeddings=False, num_key_value_heads=2)


gemma3, smollm3, cohere = untied(models.gemma3), untied(models.smollm3), untied(models.cohere)
granite, glm4 = untied(models.granite), untied(models.glm4)
NORMS = {"model.layers.*.self_attn.q_norm": "replicate"}
gemma3_single, gemma3_tp = single(gemma3), distributed(gemma3, tp_size=2)
gemma3_tp_norms = distributed(gemma3, tp_size=2, tp_plan=NORMS)
smollm3_single, smollm3_tp = single(smollm3), distributed(smollm3, tp_size=2)
smollm3_tp_scaled = distributed(smollm3, tp_size=2, more={"scale": 0.5})
granite_single, granite_tp = single(granite), distributed(granite, tp_size=2)
granite_tp_scaled = distributed(granite, tp_size=2, more={"scale": 2})
cohere_single, cohere_tp = single(cohere), distributed(cohere, tp_size=2)
cohere_tp_scaled = distributed(cohere, tp_size=2, more={"scale": 0.5})
glm4_single, glm4_tp = single(glm4), distributed(glm4, tp_size=2)
glm4_tp_scaled = distributed(glm4, tp_size=2, more={"scale": 0.5})
