"""random_draw: what a generator draws from one state. It has no rule: before a proof it becomes an input.

Kinds are those of `verdict/graph/draws.py`. Every element is drawn alike and independently, so that one number that may
be drawn may be every element of every draw of its law.
"""

from typing import Any

import numpy as np

from verdict.graph import Node, Shape
from verdict.graph.draws import BERNOULLI, INTEGERS, NORMAL, UNIFORM, Draw
from verdict.ops.constant import CONSTANT
from verdict.ops.rule import Array

FAIR = 0.5
"""The probability at which a truth value and its contrary have one law."""


def constant(draw: Draw) -> Node:
    """A node that makes what the draw makes, where every element is one number that may be drawn."""
    return _full(draw, _number(draw))


def mirrored(draw: Draw) -> Node:
    """The same, where the number is the one across the middle of the draw's law, which is as likely: a normal number on
    the other side of the mean, and, of truth values that are as often true as not, the other one.
    """
    number = _number(draw)
    match draw.attrs["kind"], draw.parameters:
        case (kind, (mean, _)) if kind == NORMAL:
            number = 2 * mean - number
        case (kind, (p,)) if kind == BERNOULLI and p == FAIR:
            number = not number
    return _full(draw, number)


def _full(draw: Draw, number: float) -> Node:
    attrs = (("dtype", draw.made), ("fill_value", number), ("size", draw.shape))
    return Node("aten.full", (), (draw.tensor,), attrs, "")


def listed(draw: Draw, values: Array) -> Node:
    """A node that makes `values`, of the draw's shape, in the place of the draw."""
    numbers = tuple(map(int if draw.attrs["kind"] in (BERNOULLI, INTEGERS) else float, values.reshape(-1)))
    return Node(CONSTANT, (), (draw.tensor,), (("shape", draw.shape), ("values", numbers)), "")


def sampled(draw: Draw, random: np.random.Generator) -> Array:
    """Numbers that a draw may make."""
    return _sample(draw, random, draw.shape)


def another(draw: Draw, value: Any, random: np.random.Generator) -> Any:
    """Another number than `value` that an element of a draw may be."""
    if draw.attrs["kind"] == BERNOULLI:
        return 1 - value
    return next((found for found in _sample(draw, random, (64,)) if found != value), value)


def _sample(draw: Draw, random: np.random.Generator, shape: Shape) -> Array:
    match draw.attrs["kind"], draw.parameters:
        case (kind, (_,)) if kind == BERNOULLI:
            return random.integers(0, 2, shape)
        case (kind, (low, high)) if kind == UNIFORM:
            return random.uniform(low, high, shape)
        case (kind, (mean, deviation)) if kind == NORMAL:
            return random.normal(mean, deviation, shape)
        case (kind, (low, high)) if kind == INTEGERS:
            return random.integers(int(low), int(high), shape)
        case _:
            return random.exponential(1.0, shape)


def _number(draw: Draw) -> float:
    match draw.attrs["kind"], draw.parameters:
        case (kind, (_,)) if kind == BERNOULLI:
            return True
        case (kind, (low, high)) if kind == UNIFORM:
            return (low + high) / 2
        case (kind, (mean, deviation)) if kind == NORMAL:
            return mean + deviation
        case (kind, (low, _)) if kind == INTEGERS:
            return int(low)
        case _:
            return 1.0
