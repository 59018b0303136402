"""Megatron-Core: its GPT in data parallel, by its own wrapper and its distributed optimizer."""

from gpt import gpt, groups
from trained import alone, by_megatron, program


def run(ctx, train):
    groups()
    return program(ctx, gpt, train)


def build_single(ctx):
    return run(ctx, alone)


def build(ctx):
    return run(ctx, by_megatron(distributed=True))


def build_unfinished(ctx):
    """Nobody calls what waits for gradients, and reduces them where it is not done on the way."""
    return run(ctx, by_megatron(distributed=True, finish=lambda module: None))


def build_replicated(ctx):
    """Its ordinary optimizer: every rank has all states."""
    return run(ctx, by_megatron(distributed=False))


def build_replicated_unfinished(ctx):
    """Nobody calls what waits for gradients, and reduces them."""
    return run(ctx, by_megatron(distributed=False, finish=lambda module: None))
