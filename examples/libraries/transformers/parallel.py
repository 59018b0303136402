"""The library's own parallelism, by its DistributedConfig: tensor parallel, FSDP, and both; expert parallel."""

from types import MappingProxyType

import models
from data_parallel import single
from steps import trained
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
mixtral_single, qwen3_moe_single = single(models.mixtral), single(models.qwen3_moe)
llama_tp, qwen3_tp = distributed(models.llama, tp_size=2), distributed(models.qwen3, tp_size=2)
llama_fsdp = distributed(models.llama, data=2, fsdp_size=2)
llama_fsdp_tp = distributed(models.llama, data=2, fsdp_size=2, tp_size=2)
llama_tp_scaled = distributed(models.llama, tp_size=2, more={"scale": 0.5})
qwen3_tp_norms = distributed(models.qwen3, tp_size=2, tp_plan={"model.layers.*.self_attn.q_norm": "replicate"})
llama_fsdp_scaled = distributed(models.llama, data=2, more={"scale": 0.5}, fsdp_size=2)
llama_fsdp_tp_scaled = distributed(models.llama, data=2, more={"scale": 0.25}, fsdp_size=2, tp_size=2)
mixtral_tp = distributed(models.mixtral, tp_size=2)
mixtral_ep = distributed(models.mixtral, data=2, fsdp_size=2, ep_size=2)
qwen3_moe_tp = distributed(models.qwen3_moe, tp_size=2)
olmo2_single, olmo2_tp = single(models.olmo2), distributed(models.olmo2, tp_size=2)
phi3_single, phi3_tp = single(models.phi3), distributed(models.phi3, tp_size=2)
phi3_tp_scaled = distributed(models.phi3, tp_size=2, more={"scale": 0.5})
olmo2_tp_scaled = distributed(models.olmo2, tp_size=2, more={"scale": 0.5})
