"""Label smoothing takes the mean of the log probabilities over a rank's own part of the vocabulary.

world 2
"""

import torch
import torch.distributed as dist

from verdict.torch import Program, shard

TOKENS, HIDDEN, WORDS, SMOOTHING = 2, 3, 4, 0.25


def program(ctx, add, average):
    own = WORDS // ctx.world
    x, target, words = torch.randn(TOKENS, HIDDEN), torch.randn(TOKENS, own), torch.randn(own, HIDDEN)
    made = {}

    def step():
        logits = x @ words.t()
        total = add(logits.exp().sum(-1))
        logp = logits - total.log().unsqueeze(-1)
        hit = add((target * logp).sum(-1))
        smooth = average(logp)
        made["loss"] = -(1 - SMOOTHING) * hit - SMOOTHING * smooth

    specs = {"target": shard(1, ctx.rank, ctx.world), "words": shard(0, ctx.rank, ctx.world)}
    return Program({"x": x, "target": target}, {"words": words}, step, lambda: made, specs=specs)


def reduced(x):
    x = x.clone()
    dist.all_reduce(x)
    return x


def build_single(ctx):
    return program(ctx, lambda x: x, lambda logp: logp.mean(-1))


def build_right(ctx):
    return program(ctx, reduced, lambda logp: reduced(logp.sum(-1)) / WORDS)


def build(ctx):
    return program(ctx, reduced, lambda logp: logp.mean(-1))  # place
