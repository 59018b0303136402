"""Counterexamples: inputs, and what both sides make of them. Each is replayed from its recipes before it is shown."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from verdict.diagnose.recipe import apply, mismatches
from verdict.ops import Array
from verdict.outcome import Applied, Block, Counterexample, Recipe
from verdict.solver import InternalError


class NotShown(Exception):
    """Both sides differ by less than rounding at the inputs that tell them apart."""


class Pair(NamedTuple):
    """What the single device makes, and what stands for it on the parallel side."""

    label: str
    single: Recipe
    ranks: str
    parallel: Recipe


def counterexample(labels: Sequence[str], inputs: Sequence[Array], pairs: Sequence[Pair], at: str) -> Counterexample:
    """The counterexample of these inputs.

    Raises InternalError where no pair of blocks differs, and NotShown where these are rounded.
    """
    used = sorted({number for pair in pairs for step in (*pair.single, *pair.parallel) for number, _ in step.inputs})
    place = {number: k for k, number in enumerate(used)}
    kept = [inputs[number] for number in used]
    recipes = [(_moved(pair.single, place), _moved(pair.parallel, place)) for pair in pairs]
    single, parallel = [], []
    for pair, (one, other) in zip(pairs, recipes, strict=True):
        expected, found = apply(one, kept), apply(other, kept)
        if expected.shape != found.shape:
            raise InternalError(f"a counterexample compares shapes {expected.shape} and {found.shape}")
        wrong = mismatches(expected, found)
        single.append(_block(pair.label, expected))
        parallel.append(_block(pair.ranks, found, wrong))
    if not any(any(block.wrong) for block in parallel):
        if any(isinstance(value, float) for block in (*single, *parallel) for value in block.values):
            raise NotShown
        raise InternalError("a counterexample does not replay")
    blocks = tuple(_block(labels[number], inputs[number]) for number in used)
    return Counterexample(blocks, tuple(single), tuple(parallel), at, tuple(recipes))


def arrays_of(blocks: Sequence[Block]) -> list[Array]:
    """The blocks as arrays of objects."""
    found = []
    for block in blocks:
        array = np.empty(len(block.values), dtype=object)
        array[:] = block.values
        found.append(array.reshape(block.shape))
    return found


def replays(found: Counterexample) -> bool:
    """Whether the recipes make the blocks again, and some of them differ."""
    inputs = arrays_of(found.inputs)
    differs = False
    for (one, other), single, parallel in zip(found.recipes, found.single, found.parallel, strict=True):
        expected, made = apply(one, inputs), apply(other, inputs)
        if _block("", expected).values != single.values or _block("", made).values != parallel.values:
            return False
        differs = differs or bool(mismatches(expected, made).any())
    return differs


def _moved(recipe: Recipe, place: dict[int, int]) -> Recipe:
    return tuple(step_moved(step, place) for step in recipe)


def step_moved(step: Applied, place: dict[int, int]) -> Applied:
    """The step with its inputs under other numbers."""
    inputs = tuple((place[number], box) for number, box in step.inputs)
    return Applied(step.op, inputs, step.attrs, step.grads, step.output, step.region, step.factor)


def _block(label: str, array: Array, wrong: Array | None = None) -> Block:
    marks = tuple(bool(mark) for mark in wrong.flat) if wrong is not None else ()
    return Block(label, tuple(array.shape), tuple(_number(value) for value in array.flat), marks)


def _number(value: Any) -> Fraction | float:
    return float(value) if isinstance(value, float) else Fraction(value)
