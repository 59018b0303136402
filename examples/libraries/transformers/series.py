"""Forecasts of time series, as they are: a history in patches, of which each channel is a row of its own."""

import torch
import transformers as hf
from data_parallel import ddp, single

CHANNELS, PAST, NEXT = 2, 4, 2
PATCHES = {
    "num_input_channels": CHANNELS, "context_length": PAST, "prediction_length": NEXT, "patch_length": 2,
    "patch_stride": 2, "d_model": 4, "scaling": None, "loss": "mse", "head_dropout": 0.0,
}  # fmt: skip


def patchtst():
    sizes = {"num_hidden_layers": 1, "num_attention_heads": 2, "ffn_dim": 4, "norm_type": "layernorm"}
    drops = {"attention_dropout": 0.0, "positional_dropout": 0.0, "path_dropout": 0.0, "ff_dropout": 0.0}
    return hf.PatchTSTForPrediction(hf.PatchTSTConfig(**PATCHES, **sizes, **drops))


def patchtsmixer():
    sizes = {"num_layers": 1, "expansion_factor": 1, "norm_mlp": "LayerNorm", "dropout": 0.0}
    return hf.PatchTSMixerForPrediction(hf.PatchTSMixerConfig(**PATCHES, **sizes))


def history(rows):
    return {"past_values": torch.randn(rows, PAST, CHANNELS), "future_values": torch.randn(rows, NEXT, CHANNELS)}


patchtst_single, patchtst_ddp = single(patchtst, inputs=history), ddp(patchtst, inputs=history)
patchtst_ddp_scaled = ddp(patchtst, inputs=history, scale=0.5)
patchtsmixer_single, patchtsmixer_ddp = single(patchtsmixer, inputs=history), ddp(patchtsmixer, inputs=history)
patchtsmixer_ddp_scaled = ddp(patchtsmixer, inputs=history, scale=2)
