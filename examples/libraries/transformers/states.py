"""Layers of states, and experts with limits, as they are: computed in chunks, cut off at 7, kept above 1e-6."""

import transformers as hf
from data_parallel import ddp, single
from models import DIM, FEW, SIZES, VOCAB
from steps import images, shifted

CHUNKS = {"chunk_size": 2, "n_groups": 1}


def gpt_oss():
    """Four experts, of which two are chosen, and sinks in attention."""
    experts = {"num_local_experts": 4, "num_experts_per_tok": 2}
    return hf.GptOssForCausalLM(hf.GptOssConfig(**{**SIZES, **FEW, **experts, "num_key_value_heads": 2, "head_dim": 4}))


def mamba2():
    sizes = {"vocab_size": VOCAB, "hidden_size": 4, "state_size": 2, "num_hidden_layers": 1, "conv_kernel": 2}
    return hf.Mamba2ForCausalLM(hf.Mamba2Config(**sizes, **CHUNKS, expand=2, num_heads=2, head_dim=4))


def falcon_h1():
    """States beside attention in one layer."""
    states = {"mamba_d_ssm": DIM, "mamba_n_heads": 2, "mamba_d_head": 4, "mamba_d_state": 2, "mamba_d_conv": 2}
    chunks = {f"mamba_{name}": number for name, number in CHUNKS.items()}
    return hf.FalconH1ForCausalLM(hf.FalconH1Config(**SIZES, **states, **chunks, num_key_value_heads=1))


def convnextv2():
    sizes = {"patch_size": 2, "num_stages": 2, "hidden_sizes": [4, 4], "depths": [1, 1], "drop_path_rate": 0.0}
    return hf.ConvNextV2ForImageClassification(hf.ConvNextV2Config(**sizes, num_labels=3))


gpt_oss_single, gpt_oss_ddp = single(gpt_oss, inputs=shifted), ddp(gpt_oss, inputs=shifted)
gpt_oss_ddp_scaled = ddp(gpt_oss, inputs=shifted, scale=0.5)
mamba2_single, mamba2_ddp, mamba2_ddp_scaled = single(mamba2), ddp(mamba2), ddp(mamba2, scale=0.5)
falcon_h1_single, falcon_h1_ddp, falcon_h1_ddp_scaled = single(falcon_h1), ddp(falcon_h1), ddp(falcon_h1, scale=0.5)
convnextv2_single, convnextv2_ddp = single(convnextv2, inputs=images), ddp(convnextv2, inputs=images)
convnextv2_ddp_scaled = ddp(convnextv2, inputs=images, scale=0.5)
