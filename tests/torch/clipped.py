"""Training steps as libraries write them: the single device is under DistributedDataParallel too, labels are padded,
losses are divided by a number of microbatches, and the norm of all gradients is clipped.
"""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from verdict.torch import Program, mean, shard

WORDS, SIZE, LENGTH, ROWS, NONE, MOST = 4, 2, 2, 4, -100, 0.01


class Language(nn.Module):
    """Words and an activation, two weights that are read twice, and a loss of the next word."""

    def __init__(self):
        super().__init__()
        self.words, self.gain = nn.Embedding(WORDS, SIZE), nn.Parameter(torch.ones(SIZE))
        self.up, self.down, self.head = (nn.Linear(SIZE, size, bias=False) for size in (SIZE, SIZE, WORDS))

    def forward(self, ids, labels):
        x = self.words(ids)
        x = x + self.down(torch.tanh(self.up(x))) * torch.sigmoid(self.down(x))
        scores = self.head(x * self.gain).view(-1, WORDS)
        following = functional.pad(labels, (0, 1), value=NONE)[:, 1:].contiguous()
        return functional.cross_entropy(scores, following.view(-1), ignore_index=NONE)


def clipped(model):
    nn.utils.clip_grad_norm_(model.parameters(), MOST)


def program(ctx, parts=1, clip=clipped, scale=None, apart=False):
    """parts: microbatches. scale: by what losses are divided. apart: whether gradients are reduced by hand later."""
    model = Language()
    wrapped = model if apart else DistributedDataParallel(model)
    adam = torch.optim.AdamW(model.parameters(), lr=0.01)
    rows = ROWS // ctx.world // parts
    batches = [{name: torch.randint(WORDS, (rows, LENGTH)) for name in ("ids", "labels")} for _ in range(parts)]

    def step():
        losses = []
        for place, batch in enumerate(batches):
            with nullcontext() if apart or place == parts - 1 else wrapped.no_sync():
                losses.append(wrapped(**batch))
                (losses[-1] / (scale or parts)).backward()
        clip(model)
        for weight in model.parameters() if apart else ():
            dist.all_reduce(weight.grad, op=dist.ReduceOp.AVG)
        adam.step()
        return sum(losses) / parts

    inputs = {f"{name}.{place}": tensor for place, batch in enumerate(batches) for name, tensor in batch.items()}
    specs = {name: shard(0, ctx.rank, ctx.world) for name in inputs}
    ranges = dict.fromkeys(inputs, (0, WORDS - 1))
    more = {"specs": specs, "ranges": ranges, "loss": mean(ctx.rank, ctx.world), "optimizer": adam}
    return Program(inputs=inputs, params=model, step=step, **more)


def build(ctx):
    return program(ctx)


def build_clipped_first(ctx):
    """Each rank clips its own gradients, and then they are averaged."""
    return program(ctx, apart=True)


def build_halved(ctx):
    """What is clipped by is the norm of what each rank has of the mean."""

    def clip(model):
        norm = nn.utils.get_total_norm([weight.grad / ctx.world for weight in model.parameters()])
        nn.utils.clip_grads_with_norm_(model.parameters(), MOST, norm)

    return program(ctx, clip=clip)


def build_twice(ctx):
    return program(ctx, parts=2)


def build_twice_undivided(ctx):
    """The losses of microbatches are added, so that more is clipped."""
    return program(ctx, parts=2, scale=1)
