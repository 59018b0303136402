"""The mean over targets that count, of logits whose vocabulary ranks divide: which do is a choice of each."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from verdict.torch import Program, shard

TOKENS, SIZE, WORDS, NONE = 5, 3, 4, -100


class Summed(torch.autograd.Function):
    """The sum over ranks, whose gradient each of them has."""

    @staticmethod
    def forward(ctx, x):
        total = x.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Shared(torch.autograd.Function):
    """What all ranks have, whose gradient they add up."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def program(ctx, loss_of):
    own = WORDS // ctx.world
    x, targets = torch.randn(TOKENS, SIZE), torch.randint(WORDS, (TOKENS,))
    weights = {"inner": nn.Parameter(torch.randn(SIZE, SIZE)), "head": nn.Parameter(torch.randn(SIZE, own))}

    def step():
        loss = loss_of(x @ weights["inner"], weights["head"], targets, ctx.rank * own)
        loss.backward()
        return loss.detach()

    specs = {"head": shard(1, ctx.rank, ctx.world)} if ctx.world > 1 else {}
    return Program({"x": x, "targets": targets}, weights, step, specs=specs)


def build_single(ctx):
    return program(ctx, lambda rows, head, targets, _: cross_entropy(rows @ head, targets, ignore_index=NONE))


def divided(rows, head, targets, start, above=0, last=0):
    """above: the least target that is counted. last: what a rank takes for its own beyond its words."""
    logits = Shared.apply(rows) @ head
    greatest = logits.detach().amax(1)
    dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
    total = Summed.apply((logits - greatest[:, None]).exp().sum(1)).log() + greatest
    counts = targets != NONE
    word = torch.where(counts, targets, 0)
    own = (word >= start) & (word < start + head.shape[1] + last)
    place = torch.where(own, word - start, 0).clamp(max=head.shape[1] - 1)
    chosen = torch.where(own, logits.gather(1, place[:, None])[:, 0], 0.0)
    each = torch.where(counts, total - Summed.apply(chosen), 0.0)
    return each.sum() / (counts if above == 0 else counts & (targets >= above)).sum()


def build(ctx):
    return program(ctx, divided)


def build_counted_from_one(ctx):
    return program(ctx, lambda *given: divided(*given, above=1))


def build_one_word_too_many(ctx):
    return program(ctx, lambda *given: divided(*given, last=1))
