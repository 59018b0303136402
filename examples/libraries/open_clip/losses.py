"""open_clip's losses, which meet the features of all ranks, under DistributedDataParallel."""

import torch
import torch.distributed as dist
from open_clip.loss import ClipLoss, SigLipLoss
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Step

ROWS, SIZE = 4, 4


class Towers(nn.Module):
    """Two of one layer each. biased: SigLIP's loss has a bias, too."""

    def __init__(self, biased=False):
        super().__init__()
        self.image, self.text = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.bias = nn.Parameter(torch.tensor(-1.0)) if biased else None

    def forward(self, images, texts):
        features = (functional.normalize(self.image(images), dim=-1), functional.normalize(self.text(texts), dim=-1))
        return (*features, self.scale.exp(), *([] if self.bias is None else [self.bias]))


def biased():
    return Towers(biased=True)


def pairs():
    return {"images": torch.randn(ROWS, SIZE), "texts": torch.randn(ROWS, SIZE)}


def place():
    return {"rank": dist.get_rank(), "world_size": dist.get_world_size()} if dist.is_initialized() else {}


def gathered(output, batch):
    """Each rank's rows against all: what the others' losses say of them comes back."""
    return ClipLoss(local_loss=True, gather_with_grad=True, **place())(*output)


def gathered_without_grad(output, batch):
    return ClipLoss(local_loss=True, **place())(*output)


def sigmoid(output, batch):
    """Features go around from rank to rank."""
    return SigLipLoss(**place())(*output)


def sigmoid_alone(output, batch):
    return SigLipLoss()(*output)


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def ddp(model, mesh):
    return DistributedDataParallel(model)


clip_ddp = Step(Towers, ddp, pairs, {"dp": 2}, gathered, adam)
clip_ddp_no_grad = Step(Towers, ddp, pairs, {"dp": 2}, gathered_without_grad, adam)
siglip_ddp = Step(biased, ddp, pairs, {"dp": 2}, sigmoid, adam)
siglip_ddp_alone = Step(biased, ddp, pairs, {"dp": 2}, sigmoid_alone, adam)
