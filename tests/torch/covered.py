"""Attention under a mask of the batch that is minus infinity where it covers: rows that random masks cover as a whole
are no numbers on one device either.
"""

import math

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional

from verdict.torch import Program, mean, shard

ROWS, LENGTH, SIZE, HEADS, WORDS, NONE = 4, 4, 8, 2, 8, -100


class Block(nn.Module):
    """Attention of tokens to those before them that are no padding."""

    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, SIZE), nn.LayerNorm(SIZE)
        self.queries, self.keys, self.values, self.out = (nn.Linear(SIZE, SIZE, bias=False) for _ in range(4))
        self.head = nn.Linear(SIZE, WORDS, bias=False)

    def forward(self, ids, mask):
        x = self.words(ids)
        rows, length, _ = x.shape
        heads = (each(self.norm(x)).view(rows, length, HEADS, -1) for each in (self.queries, self.keys, self.values))
        q, k, v = (each.transpose(1, 2) for each in heads)
        scores = q @ k.transpose(-1, -2) / math.sqrt(SIZE // HEADS)
        padding = torch.zeros(rows, 1, 1, length).masked_fill(mask[:, None, None] == 0, -math.inf)
        scores = scores + torch.full((length, length), -math.inf).triu(1) + padding
        made = (scores.softmax(-1) @ v).transpose(1, 2).reshape(rows, length, SIZE)
        return self.head(x + self.out(made))


def program(ctx, model, reduce=None, covers=lambda mask: mask):
    share = shard(0, ctx.rank, ctx.world)
    shape = ROWS // ctx.world, LENGTH
    ids, labels, mask = torch.randint(WORDS, shape), torch.randint(WORDS, shape), torch.ones(shape, dtype=torch.long)
    mask[:, -1] = 0
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)

    def step():
        scores = model(ids, covers(mask))
        loss = functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
        loss.backward()
        for weight in model.parameters() if reduce else ():
            dist.all_reduce(weight.grad, op=reduce)
        adam.step()
        return loss

    inputs = {"ids": ids, "labels": labels, "mask": mask}
    ranges = {"ids": (0, WORDS - 1), "labels": (0, WORDS - 1), "mask": (0, 1)}
    more = {"specs": dict.fromkeys(inputs, share), "loss": mean(ctx.rank, ctx.world), "optimizer": adam}
    return Program(inputs=inputs, params=model, step=step, ranges=ranges, **more)


def build_single(ctx):
    return program(ctx, Block())


def build(ctx):
    return program(ctx, Block(), dist.ReduceOp.AVG)


def build_fsdp2(ctx):
    model, mesh = Block(), init_device_mesh("cpu", (ctx.world,))
    fully_shard(model, mesh=mesh)
    return program(ctx, model)


def build_summed(ctx):
    return program(ctx, Block(), dist.ReduceOp.SUM)


def build_first(ctx):
    """The padding of a rank's first text is taken for that of all its texts."""
    return program(ctx, Block(), dist.ReduceOp.AVG, lambda mask: mask[:1].expand_as(mask))
