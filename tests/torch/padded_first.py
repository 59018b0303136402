"""One of thousands of words is padding: its row gets no gradient, and a loss passes over it. Ranks share rows."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, shard

VOCABULARY, FEWER, WIDTH, TOKENS = 3_000, 512, 16, 8


def program(tokens, padding=0, ignored=0, words=VOCABULARY, **more):
    given = {name: torch.randint(words, (tokens,)) for name in ("ids", "labels")}
    weights = {"table": (words, WIDTH), "mixing": (WIDTH, WIDTH), "out": (words, WIDTH)}
    weights = {name: torch.nn.Parameter(torch.randn(shape)) for name, shape in weights.items()}

    def step():
        ids, labels = given["ids"], given["labels"]
        hidden = torch.tanh(functional.embedding(ids, weights["table"], padding_idx=padding) @ weights["mixing"])
        scores = hidden @ weights["out"].t()
        count = (labels != ignored).sum().float()
        if "specs" in more:
            dist.all_reduce(count)
        loss = functional.cross_entropy(scores, labels, ignore_index=ignored, reduction="sum") / count
        loss.backward()
        for weight in weights.values() if "specs" in more else ():
            dist.all_reduce(weight.grad)
        total = loss.detach().clone()
        if "specs" in more:
            dist.all_reduce(total)
        return total

    return Program(given, weights, step, ranges={"labels": (0, words - 1)}, **more)


def build_single(ctx):
    return program(TOKENS)


def build_last_single(ctx):
    return program(TOKENS, padding=VOCABULARY - 1, ignored=VOCABULARY - 1)


def build_last(ctx):
    return parallel(ctx, at=VOCABULARY - 1)


def build_last_padding(ctx):
    """The last rank takes the word before for padding."""
    return parallel(ctx, at=VOCABULARY - 1, padding=VOCABULARY - 2)


def build_last_ignored(ctx):
    """The last rank passes over the word before."""
    return parallel(ctx, at=VOCABULARY - 1, ignored=VOCABULARY - 2)


def build_fewer_single(ctx):
    return program(TOKENS, words=FEWER)


def parallel(ctx, words=VOCABULARY, at=0, **last):
    """at: the word that is padding. last: what is otherwise on the last rank."""
    rows = shard(0, ctx.rank, ctx.world)
    specs = {"ids": rows, "labels": rows}
    own = {"padding": at, "ignored": at, **(last if ctx.rank == ctx.world - 1 else {})}
    return program(TOKENS // ctx.world, words=words, specs=specs, **own)


def build(ctx):
    return parallel(ctx)


def build_padding(ctx):
    """The last rank takes the second word for padding."""
    return parallel(ctx, padding=1)


def build_ignored(ctx):
    """The last rank passes over the second word."""
    return parallel(ctx, ignored=1)


def build_none_ignored(ctx):
    """The last rank passes over none."""
    return parallel(ctx, ignored=-100)


def build_fewer_padding(ctx):
    """The same as `build_padding`, of fewer words, so that few of the numbers that are drawn show it."""
    return parallel(ctx, words=FEWER, padding=1)
