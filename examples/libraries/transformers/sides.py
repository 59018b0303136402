"""Encoders beside decoders, as they are."""

import transformers as hf
from data_parallel import ddp, single
from others import TWO_SIDES, unpadded


def marian():
    return hf.MarianMTModel(hf.MarianConfig(**TWO_SIDES, pad_token_id=0, decoder_start_token_id=0, eos_token_id=1))


def mbart():
    tokens = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
    return hf.MBartForConditionalGeneration(hf.MBartConfig(**TWO_SIDES, **tokens))


def blenderbot():
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
    return hf.BlenderbotForConditionalGeneration(hf.BlenderbotConfig(**TWO_SIDES, **tokens))


marian_single, marian_ddp, marian_ddp_scaled = single(marian), ddp(marian), ddp(marian, scale=0.5)
mbart_single, mbart_ddp = single(mbart, inputs=unpadded), ddp(mbart, inputs=unpadded)
mbart_ddp_scaled = ddp(mbart, inputs=unpadded, scale=2)
blenderbot_single, blenderbot_ddp = single(blenderbot), ddp(blenderbot)
blenderbot_ddp_scaled = ddp(blenderbot, scale=0.5)
