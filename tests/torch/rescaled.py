"""Attention over blocks of keys, whose softmax is put together from those of the blocks: what is rescaled, and how."""

import torch

from verdict.torch import Program, mean, shard

ROWS, KEYS, DIM, BLOCK = 4, 6, 3, 2


def at_once(q, k, v):
    return (q @ k.t()).softmax(-1) @ v


def in_blocks(q, k, v, how):
    most = total = made = None
    for keys, values in zip(k.split(BLOCK), v.split(BLOCK), strict=True):
        scores = q @ keys.t()
        own = scores.amax(-1, keepdim=True)
        now = own if most is None else torch.maximum(most, own)
        parts = (scores - now).exp()
        if most is None:
            total, made = parts.sum(-1, keepdim=True), parts @ values
        else:
            before = (now - most if how == "sign" else most - now).exp()
            kept = total if how == "total" else total * before
            mixed = made if how == "made" else made * before
            total, made = kept + parts.sum(-1, keepdim=True), mixed + parts @ values
        most = now
    return made / total


def program(ctx, how=""):
    given = {"q": torch.randn(ROWS // ctx.world, DIM), "k": torch.randn(KEYS, DIM), "v": torch.randn(KEYS, DIM)}

    def step():
        return (at_once(**given) if ctx.world == 1 else in_blocks(**given, how=how)).square().mean()

    if ctx.world == 1:
        return Program(given, {}, step)
    return Program(given, {}, step, specs={"q": shard(0, ctx.rank, ctx.world)}, loss=mean(ctx.rank, ctx.world))


def build_single(ctx):
    return program(ctx)


def build(ctx):
    return program(ctx)


def build_total(ctx):
    """Wrong: the sum of exponentials is not rescaled."""
    return program(ctx, "total")


def build_made(ctx):
    """Wrong: the sum of values is not rescaled."""
    return program(ctx, "made")


def build_sign(ctx):
    """Wrong: what came before is rescaled by the inverse."""
    return program(ctx, "sign")
