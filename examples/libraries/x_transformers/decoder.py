"""A decoder of x-transformers, as it is, under DistributedDataParallel."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from x_transformers import Decoder, TransformerWrapper

from verdict.torch import Step

ROWS, SEQ, VOCAB = 4, 4, 16


class Texts(nn.Module):
    """Takes the ids alone: the wrapper hands on whatever else it is given."""

    def __init__(self):
        super().__init__()
        layers = Decoder(dim=8, depth=1, heads=2, attn_dim_head=4)
        self.model = TransformerWrapper(num_tokens=VOCAB, max_seq_len=SEQ, attn_layers=layers)

    def forward(self, ids):
        return self.model(ids)


def texts():
    return {"ids": torch.randint(VOCAB, (ROWS, SEQ)), "target": torch.randint(VOCAB, (ROWS, SEQ))}


def loss(output, batch):
    return functional.cross_entropy(output.flatten(0, 1), batch["target"].flatten())


def scaled(output, batch):
    return loss(output, batch) / (dist.get_world_size() if dist.is_initialized() else 1)


def adam(params):
    return torch.optim.AdamW(params, lr=0.01)


def ddp(model, mesh):
    return DistributedDataParallel(model)


RANGES = {"target": (0, VOCAB - 1)}
build_ddp = Step(Texts, ddp, texts, {"dp": 2}, loss, adam, ranges=RANGES)
build_ddp_scaled = Step(Texts, ddp, texts, {"dp": 2}, scaled, adam, ranges=RANGES)
