"""A loss over tokens that have a label, where a rank, or all of them, may have none: the count is kept from zero."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from verdict.torch import Program, shard

ROWS, LENGTH, SIZE, WORDS, NONE = 4, 3, 4, 8, -100


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(WORDS, SIZE), nn.Linear(SIZE, WORDS)

    def forward(self, ids):
        return self.head(torch.tanh(self.words(ids))).flatten(0, 1)


def program(ctx, loss_of, reduce=None):
    """reduce: how the ranks' gradients and losses become one."""
    model, shape = Words(), (ROWS // ctx.world, LENGTH)
    ids, labels = torch.randint(WORDS, shape), torch.randint(WORDS, shape)
    labels[:, 0] = NONE

    def step():
        loss = loss_of(model(ids), labels.flatten())
        loss.backward()
        if reduce is None:
            return loss
        for weight in model.parameters():
            dist.all_reduce(weight.grad, op=reduce)
        total = loss.detach().clone()
        dist.all_reduce(total, op=reduce)
        return total

    inputs = {"ids": ids, "labels": labels}
    specs = dict.fromkeys(inputs, shard(0, ctx.rank, ctx.world))
    ranges = {"ids": (0, WORDS - 1), "labels": (NONE, WORDS - 1)}
    return Program(inputs=inputs, params=model, step=step, specs=specs, ranges=ranges)


def build_single(ctx):
    return program(ctx, cross_entropy)


def divided(scores, labels, joined=True):
    """The sum over a rank's tokens, divided by how many labels there are: on all ranks, or on its own."""
    count = (labels != NONE).sum()
    if joined:
        dist.all_reduce(count)
    return cross_entropy(scores, labels, reduction="sum") / count.clamp(min=1)


def build(ctx):
    return program(ctx, divided, dist.ReduceOp.SUM)


def build_own_count(ctx):
    """Each rank divides by its own labels."""
    return program(ctx, lambda scores, labels: divided(scores, labels, joined=False), dist.ReduceOp.AVG)


def build_bounded_by_two(ctx):
    """One label counts for two."""

    def loss_of(scores, labels):
        count = (labels != NONE).sum()
        dist.all_reduce(count)
        return cross_entropy(scores, labels, reduction="sum") / count.clamp(min=2)

    return program(ctx, loss_of, dist.ReduceOp.SUM)
