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
