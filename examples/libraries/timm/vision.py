"""Image models of timm, as they are, under DistributedDataParallel and FSDP2."""

import torch
import torch.distributed as dist
from timm.models.mlp_mixer import MlpMixer
from timm.models.vision_transformer import VisionTransformer
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step

ROWS, CLASSES, SIDE = 4, 3, 8


def vit():
    sizes = {"img_size": SIDE, "patch_size": 4, "embed_dim": 8, "depth": 1, "num_heads": 2, "mlp_ratio": 2}
    return VisionTransformer(num_classes=CLASSES, **sizes)


def mixer():
    return MlpMixer(num_classes=CLASSES, img_size=SIDE, patch_size=4, num_blocks=1, embed_dim=8)


def images():
    return {"x": torch.randn(ROWS, 3, SIDE, SIDE), "target": torch.randint(CLASSES, (ROWS,))}


def loss(output, batch):
    return functional.cross_entropy(output, batch["target"])


def scaled(output, batch):
    return loss(output, batch) / (dist.get_world_size() if dist.is_initialized() else 1)


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def ddp(model, mesh):
    return DistributedDataParallel(model)


def fsdp2(model, mesh):
    for block in model.blocks:
        fully_shard(block, mesh=mesh["dp"])
    return fully_shard(model, mesh=mesh["dp"])


RANGES = {"target": (0, CLASSES - 1)}
vit_ddp = Step(vit, ddp, images, {"dp": 2}, loss, adam, ranges=RANGES)
vit_ddp_scaled = Step(vit, ddp, images, {"dp": 2}, scaled, adam, ranges=RANGES)
mixer_fsdp2 = Step(mixer, fsdp2, images, {"dp": 2}, loss, adam, ranges=RANGES)
mixer_fsdp2_scaled = Step(mixer, fsdp2, images, {"dp": 2}, scaled, adam, ranges=RANGES)
