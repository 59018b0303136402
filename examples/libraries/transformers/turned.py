"""Models of the library whose rotary embeddings turn complex numbers: data parallel, and its tensor parallelism."""

import transformers as hf
from data_parallel import ddp, single
from models import FEW, SIZES
from parallel import distributed

HEADS = {"num_key_value_heads": 2, "pad_token_id": 0}


def deepseek_v2():
    """Latent attention, of which parts of heads are turned; a dense layer."""
    latent = {"q_lora_rank": 4, "kv_lora_rank": 4, "qk_rope_head_dim": 2, "qk_nope_head_dim": 2, "v_head_dim": 2}
    sizes = {**SIZES, **FEW, **HEADS, **latent, "first_k_dense_replace": 1}
    return hf.DeepseekV2ForCausalLM(hf.DeepseekV2Config(**sizes))


def llama4():
    """A dense layer: every second one has experts."""
    sizes = {"head_dim": 4, "num_local_experts": 2, "intermediate_size_mlp": 8, "interleave_moe_layer_step": 2}
    return hf.Llama4ForCausalLM(hf.Llama4TextConfig(**{**SIZES, **HEADS, "intermediate_size": 4, **sizes}))


deepseek_v2_single, deepseek_v2_ddp = single(deepseek_v2), ddp(deepseek_v2)
deepseek_v2_ddp_scaled = ddp(deepseek_v2, scale=0.5)
deepseek_v2_tp = distributed(deepseek_v2, tp_size=2)
deepseek_v2_tp_scaled = distributed(deepseek_v2, tp_size=2, more={"scale": 0.5})
llama4_single, llama4_ddp, llama4_ddp_scaled = single(llama4), ddp(llama4), ddp(llama4, scale=0.5)
llama4_tp, llama4_tp_scaled = distributed(llama4, tp_size=2), distributed(llama4, tp_size=2, more={"scale": 0.5})
