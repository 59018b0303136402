"""Models of the library transformers, as they are: one layer, small widths, random weights, the library's defaults."""

import transformers as hf

VOCAB, DIM, HEADS, SEQ = 16, 8, 2, 4
SIZES = {
    "vocab_size": VOCAB, "hidden_size": DIM, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": HEADS, "max_position_embeddings": SEQ,
}  # fmt: skip
FEW = {"hidden_size": 4, "intermediate_size": 4, "vocab_size": VOCAB}
"""Of a mixture of experts."""
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def llama(**more):
    return hf.LlamaForCausalLM(hf.LlamaConfig(**SIZES, **{"num_key_value_heads": 2, **more}))


def llama_grouped():
    return llama(num_key_value_heads=1)


def qwen3(**more):
    return hf.Qwen3ForCausalLM(hf.Qwen3Config(**SIZES, **{"num_key_value_heads": 2, "head_dim": 4, **more}))


def qwen2(**more):
    return hf.Qwen2ForCausalLM(hf.Qwen2Config(**SIZES, **{"num_key_value_heads": 1, **more}))


def mistral(**more):
    return hf.MistralForCausalLM(hf.MistralConfig(**SIZES, **{"num_key_value_heads": 1, "head_dim": 4, **more}))


def gemma2(**more):
    return hf.Gemma2ForCausalLM(hf.Gemma2Config(**SIZES, **{"num_key_value_heads": 1, "head_dim": 4, **more}))


def phi3(**more):
    return hf.Phi3ForCausalLM(hf.Phi3Config(**SIZES, **{"num_key_value_heads": 1, "pad_token_id": 0, **more}))


def olmo2(**more):
    return hf.Olmo2ForCausalLM(hf.Olmo2Config(**SIZES, **{"num_key_value_heads": 1, **more}))


def gpt_neox(**more):
    return hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SIZES, **more))


def opt(**more):
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "ffn_dim": 16, "num_hidden_layers": 1, "dropout": 0.0}
    heads = {"num_attention_heads": HEADS, "max_position_embeddings": SEQ, "word_embed_proj_dim": DIM}
    return hf.OPTForCausalLM(hf.OPTConfig(**sizes, **heads, **more))


def bloom(**more):
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "n_layer": 1, "n_head": HEADS}
    return hf.BloomForCausalLM(hf.BloomConfig(**sizes, **more))


def gpt2(**more):
    sizes = {"vocab_size": VOCAB, "n_embd": DIM, "n_head": HEADS, "n_layer": 1, "n_positions": SEQ}
    drops = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    return hf.GPT2LMHeadModel(hf.GPT2Config(**sizes, **{**drops, **more}))


def bert(**more):
    return hf.BertForMaskedLM(hf.BertConfig(**SIZES, **{**NO_DROPOUT, **more}))


def gemma(**more):
    return hf.GemmaForCausalLM(hf.GemmaConfig(**SIZES, **{"num_key_value_heads": 1, "head_dim": 4, **more}))


def granite(**more):
    return hf.GraniteForCausalLM(hf.GraniteConfig(**SIZES, **{"num_key_value_heads": 1, **more}))


def smollm3(**more):
    sizes = {"num_key_value_heads": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    return hf.SmolLM3ForCausalLM(hf.SmolLM3Config(**SIZES, **{**sizes, **more}))


def starcoder2(**more):
    return hf.Starcoder2ForCausalLM(hf.Starcoder2Config(**SIZES, **{"num_key_value_heads": 1, **more}))


def stablelm(**more):
    return hf.StableLmForCausalLM(hf.StableLmConfig(**SIZES, **{"num_key_value_heads": 2, **more}))


def cohere(**more):
    return hf.CohereForCausalLM(hf.CohereConfig(**SIZES, **{"num_key_value_heads": 1, "pad_token_id": 0, **more}))


def glm4(**more):
    sizes = {"num_key_value_heads": 1, "head_dim": 4, "pad_token_id": 0}
    return hf.Glm4ForCausalLM(hf.Glm4Config(**SIZES, **{**sizes, **more}))


def olmo3(**more):
    return hf.Olmo3ForCausalLM(hf.Olmo3Config(**SIZES, **{"num_key_value_heads": 1, "pad_token_id": 0, **more}))


def gemma3(**more):
    sizes = {"num_key_value_heads": 1, "head_dim": 4}
    return hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**SIZES, **{**sizes, **more}))


def mixtral(**more):
    sizes = {"num_key_value_heads": 2, "num_local_experts": 4, "num_experts_per_tok": 2, **FEW}
    return hf.MixtralForCausalLM(hf.MixtralConfig(**{**SIZES, **sizes, **more}))


def qwen3_moe(**more):
    heads = {"num_key_value_heads": 2, "head_dim": 4}
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 4}
    return hf.Qwen3MoeForCausalLM(hf.Qwen3MoeConfig(**{**SIZES, **FEW, **heads, **experts, **more}))


def vit(**more):
    sizes = {"hidden_size": DIM, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": HEADS}
    images = {"image_size": 4, "patch_size": 2, "num_channels": 3, "num_labels": 3}
    return hf.ViTForImageClassification(hf.ViTConfig(**sizes, **images, **{**NO_DROPOUT, **more}))


def resnet(**more):
    sizes = {"embedding_size": 4, "hidden_sizes": [4, 8], "depths": [1, 1], "layer_type": "basic", "num_labels": 3}
    return hf.ResNetForImageClassification(hf.ResNetConfig(**sizes, **more))
