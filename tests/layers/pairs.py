"""Pairs of plans with many equal layers, and edits of single nodes."""

import re
from dataclasses import replace
from functools import cache

from verdict.backends.generator import Sizes, generate

SMALL = {"hidden": 16, "heads": 4, "seq": 8, "batch": 8, "vocab": 16, "ffn": 16, "pp": 1, "microbatches": 1}
LAYERS = 14
INNER = 7
"""A layer that is left out of the plans with fewer layers."""
SHAPES = {
    "plain": ("llama3", {}),
    "adamw": ("llama3", {"sp": True, "zero": 1, "optimizer": "adamw"}),
    "clipped": ("llama3", {"zero": 2, "optimizer": "sgd", "clip": 1.0}),
    "microbatches": ("llama3", {"zero": 3, "optimizer": "adamw", "microbatches": 2}),
    "gpt": ("gpt", {"sp": True, "tied": True, "optimizer": "sgd"}),
    "ranks listed": ("llama3", {"list_ranks": True, "zero": 1, "optimizer": "sgd"}),
    "ring": ("llama3", {"cp": 2, "tp": 1, "dp": 1}),
}
ZIGZAG = "zigzag"
OTHERS = {ZIGZAG: ("llama3", {"cp": 2, "tp": 1, "dp": 1, "zigzag": True})}
"""What is asked another way first: blocks in the order of ranks."""


@cache
def pair(name):
    """The plans of one device and of all ranks."""
    model, flags = (SHAPES | OTHERS)[name]
    return generate(model, Sizes(**{**SMALL, "layers": LAYERS, "dp": 2, "tp": 2, **flags}))


def layer_of(name):
    """The layer that a name speaks of; None where it speaks of none."""
    found = re.search(r"layers\.(\d+)\.", name)
    return int(found[1]) if found else None


def nodes_of(plan, name, op):
    """The nodes of device 0 of an operator, whose names begin so."""
    segments = (segment for segment in plan.segments if segment.device == 0)
    return [n for segment in segments for n in segment.nodes if n.op == op and n.name.startswith(name)]


def edited(plan, node, **changes):
    """The plan with another node in the place of one."""
    def put(segment):
        return segment._replace(nodes=tuple(n._replace(**changes) if n is node else n for n in segment.nodes))

    return replace(plan, segments=tuple(map(put, plan.segments)))
