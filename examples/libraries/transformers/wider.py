"""Models of further families, as they are: positions that are relative, two streams, images in pyramids, states beside
attention.
"""

import transformers as hf
from data_parallel import ddp, single
from models import DIM, FEW, HEADS, NO_DROPOUT, SEQ, SIZES, VOCAB
from others import unpadded
from steps import images


def mpnet():
    sizes = {**SIZES, "max_position_embeddings": SEQ + 2, "pad_token_id": 1}
    return hf.MPNetForMaskedLM(hf.MPNetConfig(**sizes, **NO_DROPOUT))


def xlnet():
    """With what it does not use here frozen: DDP would wait for gradients that nobody makes."""
    sizes = {"vocab_size": VOCAB, "d_model": DIM, "n_layer": 1, "n_head": HEADS, "d_inner": 8, "dropout": 0.0}
    model = hf.XLNetLMHeadModel(hf.XLNetConfig(**sizes))
    for name, weight in model.named_parameters():
        if name.endswith(("mask_emb", "r_s_bias", "seg_embed")):
            weight.requires_grad_(False)
    return model


def segformer():
    sizes = {"num_encoder_blocks": 1, "depths": [1], "sr_ratios": [2], "hidden_sizes": [4], "patch_sizes": [3]}
    more = {"strides": [2], "num_attention_heads": [2], "mlp_ratios": [2], "drop_path_rate": 0.0}
    last = {"classifier_dropout_prob": 0.0, "num_labels": 3}
    return hf.SegformerForImageClassification(hf.SegformerConfig(**sizes, **more, **last, **NO_DROPOUT))


def jamba():
    """A layer of states, and one of attention."""
    states = {"mamba_d_state": 2, "mamba_d_conv": 2, "mamba_dt_rank": 2}
    kinds = {"num_hidden_layers": 2, "attn_layer_period": 2, "attn_layer_offset": 1, "num_experts": 1}
    return hf.JambaForCausalLM(hf.JambaConfig(**{**SIZES, **FEW, "num_key_value_heads": 1, **kinds, **states}))


def bigcode():
    """One head of keys and values for all queries, made with them by one layer."""
    sizes = {"vocab_size": VOCAB, "n_embd": DIM, "n_head": HEADS, "n_layer": 1, "n_positions": SEQ, "n_inner": 8}
    more = {"bos_token_id": 1, "eos_token_id": 2, "resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return hf.GPTBigCodeForCausalLM(hf.GPTBigCodeConfig(**sizes, **more))


def large(rows):
    return images(rows, 8)


mpnet_single, mpnet_ddp = single(mpnet, inputs=unpadded), ddp(mpnet, inputs=unpadded)
mpnet_ddp_scaled = ddp(mpnet, inputs=unpadded, scale=0.5)
xlnet_single, xlnet_ddp, xlnet_ddp_scaled = single(xlnet), ddp(xlnet), ddp(xlnet, scale=0.5)
segformer_single, segformer_ddp = single(segformer, inputs=large), ddp(segformer, inputs=large)
segformer_ddp_scaled = ddp(segformer, inputs=large, scale=0.5)
jamba_single, jamba_ddp, jamba_ddp_scaled = single(jamba), ddp(jamba), ddp(jamba, scale=0.5)
bigcode_single, bigcode_ddp, bigcode_ddp_scaled = single(bigcode), ddp(bigcode), ddp(bigcode, scale=2)
