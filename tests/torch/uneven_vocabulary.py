"""A tied vocabulary that does not divide by the ranks: the last one holds fewer rows, and pads them to as many as the
others have. What the padding scores is masked by minus infinity. Large ones, too, with padding and without.
"""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, piece

VOCABULARY, LARGE, ODD, WIDTH, TOKENS = 51, 4_000, 4_001, 16, 8


class Copied(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad)
        return grad


class Reduced(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def drawn(rows, words):
    mixing = torch.nn.Parameter(torch.randn(WIDTH, WIDTH))
    table = torch.nn.Parameter(torch.randn(rows, WIDTH))
    torch.manual_seed(1)
    given = {name: torch.randint(words, (TOKENS,)) for name in ("ids", "labels")}
    return given, {"table": table, "mixing": mixing}


def build_single(ctx, words=VOCABULARY):
    given, weights = drawn(words, words)

    def step():
        hidden = torch.tanh(functional.embedding(given["ids"], weights["table"]) @ weights["mixing"])
        loss = functional.cross_entropy(hidden @ weights["table"].t(), given["labels"])
        loss.backward()
        return loss

    return Program(given, weights, step, ranges={"labels": (0, words - 1)})


def build_large_single(ctx):
    return build_single(ctx, LARGE)


def build_odd_single(ctx):
    return build_single(ctx, ODD)


def parallel(ctx, masked=0, unread=0, words=VOCABULARY):
    """masked, unread: how many of the last words the mask covers, and no rank looks up."""
    rows = -(-words // ctx.world)
    low, high = ctx.rank * rows, min(words, (ctx.rank + 1) * rows)
    given, weights = drawn(high - low, words)

    def step():
        ids, labels = given["ids"], given["labels"]
        table = functional.pad(weights["table"], (0, 0, 0, rows - (high - low)))
        mine = (ids >= low) & (ids < min(high, words - unread))
        looked_up = Reduced.apply(table[torch.where(mine, ids - low, 0)] * mine[:, None])
        hidden = Copied.apply(torch.tanh(looked_up @ weights["mixing"]))
        scores = (hidden @ table.t()).masked_fill(torch.arange(rows) + low >= words - masked, float("-inf"))
        with torch.no_grad():
            greatest = scores.max(-1)[0]
            dist.all_reduce(greatest, op=dist.ReduceOp.MAX)
        scores = scores - greatest[:, None]
        total = Reduced.apply(scores.exp().sum(-1))
        here = (labels >= low) & (labels < high)
        own = scores.gather(1, torch.where(here, labels - low, 0)[:, None])[:, 0]
        loss = (total.log() - Reduced.apply(torch.where(here, own, 0.0))).mean()
        loss.backward()
        return loss

    specs = {"table": piece(0, low, high, words)}
    return Program(given, weights, step, specs=specs, ranges={"labels": (0, words - 1)})


def build(ctx):
    return parallel(ctx)


def build_unmasked(ctx):
    """The row of the padding takes part in the softmax."""
    return parallel(ctx, masked=-1)


def build_last_row_masked(ctx):
    """The mask covers the last word, too."""
    return parallel(ctx, masked=1)


def build_last_word_unread(ctx):
    """The last word is looked up by no rank."""
    return parallel(ctx, unread=1)


def build_odd(ctx):
    return parallel(ctx, words=ODD)


def build_odd_unmasked(ctx):
    return parallel(ctx, masked=-1, words=ODD)


def build_odd_last_row_masked(ctx):
    return parallel(ctx, masked=1, words=ODD)


def build_odd_last_word_unread(ctx):
    return parallel(ctx, unread=1, words=ODD)


def build_large(ctx):
    return parallel(ctx, words=LARGE)


def build_large_last_row_masked(ctx):
    return parallel(ctx, masked=1, words=LARGE)


def build_large_last_word_unread(ctx):
    return parallel(ctx, unread=1, words=LARGE)
