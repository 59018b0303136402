"""Rare words, those from some id on, count twice in a loss whose tokens two ranks share."""

import torch
import torch.distributed as dist
from torch.nn import functional

from verdict.torch import Program, shard

VOCABULARY, RARE, WIDTH, TOKENS = 4_096, 4_000, 16, 8


def program(tokens, rare=RARE, **more):
    ids = torch.randint(VOCABULARY, (tokens,))
    weights = {"table": (VOCABULARY, WIDTH), "mixing": (WIDTH, WIDTH)}
    weights = {name: torch.nn.Parameter(torch.randn(shape)) for name, shape in weights.items()}

    def step():
        hidden = torch.tanh(functional.embedding(ids, weights["table"]) @ weights["mixing"])
        loss = (hidden.square().sum(-1) * torch.where(ids > rare, 2.0, 1.0)).sum() / TOKENS
        loss.backward()
        total = loss.detach().clone()
        for shared in (total, *(weight.grad for weight in weights.values())) if more else ():
            dist.all_reduce(shared)
        return total

    return Program({"ids": ids}, weights, step, **more)


def build_single(ctx):
    return program(TOKENS)


def build(ctx):
    return program(TOKENS // ctx.world, specs={"ids": shard(0, ctx.rank, ctx.world)})


def build_other(ctx):
    """The last rank counts one word less."""
    rows = {"ids": shard(0, ctx.rank, ctx.world)}
    return program(TOKENS // ctx.world, RARE + (ctx.rank == ctx.world - 1), specs=rows)
