"""Models of other kinds, as they are: one head of keys and values for all queries, states in place of attention,
encoders and decoders, windows.
"""

from dataclasses import replace

import torch
import transformers as hf
from data_parallel import added, ddp, fsdp2, single
from models import DIM, HEADS, NO_DROPOUT, SEQ, VOCAB, bert
from steps import images, trained


def falcon():
    more = {"num_kv_heads": 1, "new_decoder_architecture": False, "ffn_hidden_size": 16}
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "num_hidden_layers": 1, "num_attention_heads": HEADS}
    return hf.FalconForCausalLM(hf.FalconConfig(**sizes, **more))


def mamba():
    sizes = {"vocab_size": VOCAB, "hidden_size": 4, "state_size": 2, "num_hidden_layers": 1, "expand": 2}
    return hf.MambaForCausalLM(hf.MambaConfig(**sizes, conv_kernel=2, time_step_rank=2))


def distilbert():
    sizes = {"vocab_size": VOCAB, "dim": DIM, "hidden_dim": 16, "n_layers": 1, "n_heads": HEADS}
    more = {"max_position_embeddings": SEQ, "dropout": 0.0, "attention_dropout": 0.0}
    return hf.DistilBertForMaskedLM(hf.DistilBertConfig(**sizes, **more))


def t5():
    sizes = {"vocab_size": VOCAB, "d_model": DIM, "d_kv": 4, "d_ff": 16, "num_layers": 1, "num_heads": HEADS}
    more = {"relative_attention_num_buckets": 4, "relative_attention_max_distance": 8, "dropout_rate": 0.0}
    return hf.T5ForConditionalGeneration(hf.T5Config(**sizes, **more, decoder_start_token_id=0, pad_token_id=0))


def whisper():
    sizes = {"d_model": DIM, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "num_mel_bins": 2}
    tokens = {"vocab_size": VOCAB, "decoder_start_token_id": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    more = {"max_source_positions": 2, "max_target_positions": SEQ, "suppress_tokens": None}
    return hf.WhisperForConditionalGeneration(hf.WhisperConfig(**sizes, **heads, **tokens, **more))


NO_DROPS = {"dropout": 0.0, "attention_dropout": 0.0, "activation_dropout": 0.0}
TWO_SIDES = {
    "vocab_size": VOCAB, "d_model": DIM, "max_position_embeddings": SEQ, "encoder_layers": 1, "decoder_layers": 1,
    "encoder_ffn_dim": 8, "decoder_ffn_dim": 8, "encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS,
    **NO_DROPS,
}  # fmt: skip


def bart():
    tokens = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2}
    return hf.BartForConditionalGeneration(hf.BartConfig(**TWO_SIDES, **tokens))


def pegasus():
    return hf.PegasusForConditionalGeneration(hf.PegasusConfig(**TWO_SIDES, pad_token_id=0, decoder_start_token_id=0))


def gpt_j():
    sizes = {"vocab_size": VOCAB, "n_embd": DIM, "n_head": HEADS, "n_layer": 1, "n_positions": SEQ, "rotary_dim": 2}
    return hf.GPTJForCausalLM(hf.GPTJConfig(**sizes, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def gpt_neo():
    """A layer that attends to all tokens before, and one that attends to two."""
    sizes = {"vocab_size": VOCAB, "hidden_size": DIM, "intermediate_size": 8, "max_position_embeddings": SEQ}
    heads = {"num_heads": HEADS, "num_layers": 2, "attention_types": [[["global", "local"], 1]], "window_size": 2}
    drops = {"resid_dropout": 0.0, "embed_dropout": 0.0, "attention_dropout": 0.0}
    return hf.GPTNeoForCausalLM(hf.GPTNeoConfig(**sizes, **heads, **drops))


def unpadded(rows):
    """Texts without the token that fills up short ones."""
    return {"input_ids": torch.randint(2, VOCAB, (rows, SEQ)), "labels": torch.randint(VOCAB, (rows, SEQ))}


def swin():
    sizes = {"image_size": 8, "patch_size": 2, "embed_dim": 4, "depths": [2], "num_heads": [2], "window_size": 2}
    return hf.SwinForImageClassification(hf.SwinConfig(**sizes, drop_path_rate=0.0, num_labels=3, **NO_DROPOUT))


def both_sides(model):
    return [*model.model.encoder.layers, *model.model.decoder.layers]


def stacks(model):
    return [*model.encoder.block, *model.decoder.block]


def spoken(rows):
    return {"input_features": torch.randn(rows, 2, 4), "labels": torch.randint(VOCAB, (rows, SEQ))}


def windows(rows):
    return images(rows, 8)


def typed(*args, **more):
    """One step of a model that is given its buffers: of types of tokens there are two."""
    made = trained(*args, **more)
    return replace(made, ranges={**made.ranges, "bert.embeddings.token_type_ids": (0, 1)})


falcon_single, falcon_ddp, falcon_ddp_scaled = single(falcon), ddp(falcon), ddp(falcon, scale=0.5)
mamba_single, mamba_ddp, mamba_ddp_scaled = single(mamba), ddp(mamba), ddp(mamba, scale=0.5)
distilbert_single, distilbert_ddp, distilbert_ddp_scaled = (
    single(distilbert), ddp(distilbert), ddp(distilbert, scale=0.5),
)  # fmt: skip
t5_single, t5_ddp, t5_ddp_scaled = single(t5), ddp(t5), ddp(t5, scale=0.5)
t5_fsdp2, t5_fsdp2_added = fsdp2(t5, stacks), fsdp2(t5, stacks, after=added)
whisper_single, whisper_ddp = single(whisper, inputs=spoken), ddp(whisper, inputs=spoken)
whisper_ddp_scaled = ddp(whisper, inputs=spoken, scale=0.5)
whisper_fsdp2 = fsdp2(whisper, both_sides, inputs=spoken)
whisper_fsdp2_scaled = fsdp2(whisper, both_sides, inputs=spoken, scale=0.5)
bert_single, bert_ddp, bert_ddp_scaled = single(bert, typed), ddp(bert, typed), ddp(bert, typed, scale=0.5)
swin_single, swin_ddp = single(swin, inputs=windows), ddp(swin, inputs=windows)
swin_ddp_scaled = ddp(swin, inputs=windows, scale=0.5)
bart_single, bart_ddp = single(bart, inputs=unpadded), ddp(bart, inputs=unpadded)
bart_ddp_scaled = ddp(bart, inputs=unpadded, scale=0.5)
bart_fsdp2 = fsdp2(bart, both_sides, inputs=unpadded)
bart_fsdp2_scaled = fsdp2(bart, both_sides, inputs=unpadded, scale=0.5)
pegasus_single, pegasus_ddp, pegasus_ddp_scaled = single(pegasus), ddp(pegasus), ddp(pegasus, scale=0.5)
pegasus_fsdp2, pegasus_fsdp2_added = fsdp2(pegasus, both_sides), fsdp2(pegasus, both_sides, after=added)
gpt_j_single, gpt_j_ddp, gpt_j_ddp_scaled = single(gpt_j), ddp(gpt_j), ddp(gpt_j, scale=0.5)
gpt_neo_single, gpt_neo_ddp, gpt_neo_ddp_scaled = single(gpt_neo), ddp(gpt_neo), ddp(gpt_neo, scale=0.5)
