"""Language models that read images in their texts, as they are: patches stand where the text has tokens for them."""

import torch
import transformers as hf
from data_parallel import ddp, single
from models import DIM, SIZES, VOCAB
from steps import BATCH

from verdict.torch import Program, mean, shard

START, END, IMAGE, FILM = 13, 12, 15, 14
"""Tokens."""
TEXT = [START, IMAGE, IMAGE, IMAGE, IMAGE, 3]


def qwen2_vl():
    rotary = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 0]}
    text = {**SIZES, "num_key_value_heads": 1, "bos_token_id": 1, "eos_token_id": 2, "rope_parameters": rotary}
    sizes = {"depth": 1, "embed_dim": 4, "hidden_size": DIM, "num_heads": 1, "mlp_ratio": 1}
    sight = {**sizes, "patch_size": 2, "temporal_patch_size": 1, "spatial_merge_size": 1}
    tokens = {"image_token_id": IMAGE, "video_token_id": FILM, "vision_start_token_id": START}
    config = hf.Qwen2VLConfig(text_config=text, vision_config=sight, **tokens, vision_end_token_id=END)
    return hf.Qwen2VLForConditionalGeneration(config)


def shown(model, wrapped, part=0, of=1, scale=1):
    """One step on texts that are alike, each with an image of its own of four patches."""
    rows = BATCH // of
    texts, grid = torch.tensor([TEXT]).repeat(rows, 1), torch.tensor([[1, 2, 2]]).repeat(rows, 1)
    told = {"input_ids": texts, "mm_token_type_ids": (texts == IMAGE).long(), "image_grid_thw": grid}
    batch = {"pixel_values": torch.randn(rows, 4, 12), "labels": torch.randint(VOCAB, (rows, len(TEXT)))}
    stepper = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        patches = batch["pixel_values"].flatten(0, 1)
        loss = wrapped(**told, pixel_values=patches, labels=batch["labels"], use_cache=False).loss
        (loss * scale if scale != 1 else loss).backward()
        stepper.step()
        return loss

    specs = {name: shard(0, part, of) for name in batch}
    more = {"specs": specs, "ranges": {"labels": (0, VOCAB - 1)}, "loss": mean(part, of)}
    return Program(inputs=batch, params=model, step=step, optimizer=stepper, **more)


qwen2_vl_single, qwen2_vl_ddp = single(qwen2_vl, shown), ddp(qwen2_vl, shown)
qwen2_vl_ddp_scaled = ddp(qwen2_vl, shown, scale=0.5)
