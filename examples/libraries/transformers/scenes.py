"""Films, and images with what is said of them, as they are."""

import torch
import transformers as hf
from data_parallel import ddp, single
from further import SIGHT
from models import NO_DROPOUT, SEQ, SIZES, VOCAB


def videomae():
    return hf.VideoMAEForVideoClassification(
        hf.VideoMAEConfig(**SIGHT, num_frames=2, tubelet_size=2, num_labels=3, **NO_DROPOUT)
    )


def films(rows):
    return {"pixel_values": torch.randn(rows, 2, 3, 4, 4), "labels": torch.randint(3, (rows,))}


def blip():
    """Images and their captions."""
    text = {**SIZES, "intermediate_size": 8, "bos_token_id": 1, "eos_token_id": 2, "sep_token_id": 2, "pad_token_id": 0}
    sizes = {"text_config": {**text, **NO_DROPOUT}, "vision_config": SIGHT, "projection_dim": 4}
    return hf.BlipForConditionalGeneration(hf.BlipConfig(**sizes, label_smoothing=0.0))


def captions(rows):
    words = {name: torch.randint(VOCAB, (rows, SEQ)) for name in ("input_ids", "labels")}
    return {"pixel_values": torch.randn(rows, 3, 4, 4), **words}


videomae_single, videomae_ddp = single(videomae, inputs=films), ddp(videomae, inputs=films)
videomae_ddp_scaled = ddp(videomae, inputs=films, scale=0.5)
blip_single, blip_ddp = single(blip, inputs=captions), ddp(blip, inputs=captions)
blip_ddp_scaled = ddp(blip, inputs=captions, scale=0.5)
