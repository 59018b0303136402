"""Films, sounds, images with what is said of them, and pages, as they are."""

import torch
import transformers as hf
from data_parallel import ddp, single
from further import SIGHT
from models import DIM, HEADS, NO_DROPOUT, SEQ, SIZES, VOCAB
from steps import BATCH, images

from verdict.torch import Program, mean, shard


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


def deit():
    return hf.DeiTForImageClassification(hf.DeiTConfig(**SIGHT, num_labels=3, **NO_DROPOUT))


def ast():
    """Sounds, as patches of their spectra."""
    sizes = {"hidden_size": DIM, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": HEADS}
    patches = {"patch_size": 2, "frequency_stride": 2, "time_stride": 2, "max_length": 4, "num_mel_bins": 4}
    return hf.ASTForAudioClassification(hf.ASTConfig(**sizes, **patches, num_labels=3, **NO_DROPOUT))


def spectra(rows):
    return {"input_values": torch.randn(rows, 4, 4), "labels": torch.randint(3, (rows,))}


def layoutlm():
    """Words, and where they stand on a page. No token fills up: the model would look for it."""
    sizes = {**SIZES, **NO_DROPOUT, "max_2d_position_embeddings": 8, "num_labels": 3, "pad_token_id": None}
    return hf.LayoutLMForSequenceClassification(hf.LayoutLMConfig(**sizes))


def laid(model, wrapped, part=0, of=1, scale=1):
    """One step on pages, whose words stand in boxes of a corner and a size."""
    rows = BATCH // of
    batch = {"input_ids": torch.randint(VOCAB, (rows, SEQ)), "labels": torch.randint(3, (rows,))}
    boxes = {"corners": torch.randint(4, (rows, SEQ, 2)), "sizes": torch.randint(4, (rows, SEQ, 2))}
    stepper = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        ends = boxes["corners"] + boxes["sizes"]
        loss = wrapped(**batch, bbox=torch.cat([boxes["corners"], ends], -1)).loss
        (loss * scale if scale != 1 else loss).backward()
        stepper.step()
        return loss

    given = {**batch, **boxes}
    ranges = {"labels": (0, 2), "corners": (0, 3), "sizes": (0, 3)}
    more = {"specs": {name: shard(0, part, of) for name in given}, "ranges": ranges, "loss": mean(part, of)}
    return Program(inputs=given, params=model, step=step, optimizer=stepper, **more)


layoutlm_single, layoutlm_ddp = single(layoutlm, laid), ddp(layoutlm, laid)
layoutlm_ddp_scaled = ddp(layoutlm, laid, scale=0.5)
deit_single, deit_ddp, deit_ddp_scaled = (
    single(deit, inputs=images), ddp(deit, inputs=images), ddp(deit, inputs=images, scale=0.5),
)  # fmt: skip
ast_single, ast_ddp = single(ast, inputs=spectra), ddp(ast, inputs=spectra)
ast_ddp_scaled = ddp(ast, inputs=spectra, scale=2)
