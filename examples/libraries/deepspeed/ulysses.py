"""DeepSpeed: its DistributedAttention (Ulysses) in a block. Each rank has a part of every sequence, and in attention
all of it for a part of the heads.
"""

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.sequence.layer import DistributedAttention
from torch import nn

from verdict.torch import Program, mean, shard

SEQ, BATCH, HEADS, HEAD = 4, 2, 2, 4
DIM = HEADS * HEAD


class Attention(nn.Module):
    """Of queries, keys and values (batch, sequence, heads, features of a head)."""

    def forward(self, *parts):
        turned = (part.transpose(1, 2) for part in parts)
        return nn.functional.scaled_dot_product_attention(*turned, is_causal=True).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, group=None):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.parts, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.attention = Attention()
        if group is not None:
            self.attention = DistributedAttention(self.attention, group, scatter_idx=2, gather_idx=1)

    def forward(self, x):
        parts = self.parts(self.norm(x)).unflatten(-1, (3, HEADS, HEAD)).unbind(2)
        places = (0,) if isinstance(self.attention, DistributedAttention) else ()
        return x + self.out(self.attention(*parts, *places).flatten(2))


def program(ctx, reduced=True):
    """reduced: whether gradients are averaged over the parts of the sequence."""
    group = None
    if ctx.world > 1:
        deepspeed.init_distributed("gloo")
        group = dist.group.WORLD
    model, parts = Block(group), (BATCH, SEQ // ctx.world, DIM)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)
    batch = {name: torch.randn(parts) for name in ("x", "target")}

    def step():
        loss = nn.functional.mse_loss(model(batch["x"]), batch["target"])
        loss.backward()
        if group is not None and reduced:
            for weight in model.parameters():
                dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        adam.step()
        return loss

    more = {"specs": dict.fromkeys(batch, shard(1, ctx.rank, ctx.world)), "loss": mean(ctx.rank, ctx.world)}
    return Program(inputs=batch, params=model, step=step, optimizer=adam, **more)


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_unreduced(ctx):
    """Each rank learns from its own part of the sequences."""
    return program(ctx, reduced=False)
