"""Further models, as they are: images and texts that are both trained, patches in an order that is drawn, states of a
recurrence, and the parameters of a distribution as a forecast.
"""

import torch
import transformers as hf
from data_parallel import ddp, single
from further import SIGHT, classified
from models import DIM, HEADS, NO_DROPOUT, SEQ, SIZES, VOCAB
from steps import BATCH

from verdict.torch import Program, mean, shard

PAST, NEXT = 4, 2


def clip():
    """Images and texts. All ranks have all texts: their gradients are sums over the images of all ranks."""
    text = {**SIZES, "intermediate_size": 8, "eos_token_id": 2}
    return hf.CLIPModel(hf.CLIPConfig(text_config=text, vision_config=SIGHT, projection_dim=4))


def vit_mae():
    decoder = {"decoder_num_attention_heads": HEADS, "decoder_hidden_size": DIM, "decoder_num_hidden_layers": 1}
    return hf.ViTMAEForPreTraining(hf.ViTMAEConfig(**SIGHT, **decoder, decoder_intermediate_size=8, **NO_DROPOUT))


def rwkv():
    sizes = {"vocab_size": VOCAB, "context_length": SEQ, "hidden_size": 4, "attention_hidden_size": 4}
    return hf.RwkvForCausalLM(hf.RwkvConfig(**sizes, intermediate_size=8, num_hidden_layers=2))


def time_series():
    history = {"prediction_length": NEXT, "context_length": PAST, "lags_sequence": [1], "num_time_features": 1}
    sizes = {"d_model": DIM, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    heads = {"encoder_attention_heads": HEADS, "decoder_attention_heads": HEADS, "distribution_output": "normal"}
    drops = dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), 0.0)
    skips = dict.fromkeys(("encoder_layerdrop", "decoder_layerdrop"), 0.0)
    config = hf.TimeSeriesTransformerConfig(**history, **sizes, **heads, **drops, **skips)
    return hf.TimeSeriesTransformerForPrediction(config)


def given(batch):
    """The step of a model whose loss is of a batch without labels. batch: makes it of a number of rows, with what the
    model is told besides.
    """

    def program(model, wrapped, part=0, of=1, scale=1):
        inputs, more = batch(BATCH // of)
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        stepper = torch.optim.AdamW(trained, lr=0.01)

        def step():
            loss = wrapped(**inputs, **more).loss
            (loss * scale if scale != 1 else loss).backward()
            stepper.step()
            return loss

        stated = {"specs": {name: shard(0, part, of) for name in inputs}, "loss": mean(part, of)}
        return Program(inputs=inputs, params=model, step=step, optimizer=stepper, **stated)

    return program


def patches(rows):
    """Images, and numbers whose order says which patches are seen."""
    return {"pixel_values": torch.randn(rows, 3, 4, 4), "noise": torch.rand(rows, 4)}, {}


def history(rows):
    """What was measured, each time with a number that says when, and what is to be forecast. Nothing is missing."""
    past = {"past_values": torch.randn(rows, PAST + 1), "past_time_features": torch.randn(rows, PAST + 1, 1)}
    due = {"future_values": torch.randn(rows, NEXT), "future_time_features": torch.randn(rows, NEXT, 1)}
    return {**past, **due}, {"past_observed_mask": torch.ones(rows, PAST + 1)}


clip_single, clip_ddp, clip_ddp_scaled = single(clip, classified), ddp(clip, classified), ddp(clip, classified, scale=2)
mae, series = given(patches), given(history)
vit_mae_single, vit_mae_ddp, vit_mae_ddp_scaled = single(vit_mae, mae), ddp(vit_mae, mae), ddp(vit_mae, mae, scale=0.5)
rwkv_single, rwkv_ddp, rwkv_ddp_scaled = single(rwkv), ddp(rwkv), ddp(rwkv, scale=0.5)
time_series_single, time_series_ddp = single(time_series, series), ddp(time_series, series)
time_series_ddp_scaled = ddp(time_series, series, scale=0.5)
