"""Embeddings of which ranks have some rows, with a slip: the line that is to blame ends in `# place`."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from verdict.torch import Program, shard

VOCAB, DIM, TOKENS = 8, 4, 6


class Sum(torch.autograd.Function):
    """An all-reduce forward, the identity backward."""

    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


def embedding(ctx, look_up):
    """look_up: the rows of a rank's table that tokens name, zero where they are another's."""
    own = VOCAB // ctx.world
    table, head = nn.Parameter(torch.randn(own, DIM)), nn.Linear(DIM, 1, bias=False)
    tokens = torch.randint(VOCAB, (TOKENS,))

    def step():
        rows = look_up(tokens, table, ctx.rank * own, own)
        rows = rows if ctx.world == 1 else Sum.apply(rows)
        loss = head(rows).square().mean()
        loss.backward()
        return loss

    specs = {} if ctx.world == 1 else {"table": shard(0, ctx.rank, ctx.world)}
    params = {"table": table, "head": head.weight}
    return Program({"tokens": tokens}, params, step, specs=specs, ranges={"tokens": (0, VOCAB - 1)})


def whole(tokens, table, first, own):
    return functional.embedding(tokens, table)


def own_rows(tokens, table, first, own):
    outside = (tokens < first) | (tokens >= first + own)
    ids = (tokens - first).masked_fill(outside, 0)
    return functional.embedding(ids, table).masked_fill(outside.unsqueeze(-1), 0.0)


def without_offset(tokens, table, first, own):
    outside = (tokens < first) | (tokens >= first + own)
    ids = tokens.masked_fill(outside, 0).clamp(max=own - 1)
    return functional.embedding(ids, table).masked_fill(outside.unsqueeze(-1), 0.0)  # place


def of_first(tokens, table, first, own):
    outside = (tokens < 0) | (tokens >= own)
    ids = tokens.masked_fill(outside, 0)
    return functional.embedding(ids, table).masked_fill(outside.unsqueeze(-1), 0.0)  # place


def unmasked(tokens, table, first, own):
    outside = (tokens < first) | (tokens >= first + own)
    ids = (tokens - first).masked_fill(outside, 0)
    return functional.embedding(ids, table)  # place


def build_words_single(ctx):
    return embedding(ctx, whole)


def build_words(ctx):
    return embedding(ctx, own_rows)


def build_words_without_offset(ctx):
    return embedding(ctx, without_offset)


def build_words_of_first(ctx):
    return embedding(ctx, of_first)


def build_words_unmasked(ctx):
    return embedding(ctx, unmasked)
