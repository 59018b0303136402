"""A proved stage on random numbers: at full shapes where they are small enough, else at larger ones than it was proved
at. A proof speaks for shapes that were not looked at; here they are.
"""

from typing import NamedTuple

import numpy as np

from verdict.errors import ShapeError
from verdict.lineage import Meaning
from verdict.ops import Array
from verdict.ops.domain import Integers
from verdict.solver import Goal, Terms
from verdict.stage.execute import Side, goals
from verdict.stage.shrink import Shrunk, Sizes, count
from verdict.stage.stage import Stage

FULL, LARGER = "full", "larger"
GROWTHS = {FULL: (1 << 62,), LARGER: (64, 16, 4)}
"""How many elements more than it must each axis keeps between its cuts; all of them at full shapes."""
MOST_ELEMENTS = 200_000
"""The most elements that a node reads and writes where it is run on numbers."""
SEEDS = (1, 2)
"""The random values that a proved stage is run on; what differs on all of them speaks against the proof."""
RELATIVE, OF_GREATEST = 1e-6, 1e-9
"""Differences up to so much of the element, and of the greatest element, are rounding."""
FAR = 1 << 10
"""Integers without bounds are drawn up to here."""


class Larger(NamedTuple):
    """shapes: FULL, LARGER, or "" where the stage cannot be run on numbers. against: what speaks
    against the proof, "" where nothing does.
    """

    shapes: str
    against: str = ""


def on_numbers(stage: Stage, columns: int, exhaustive: bool) -> Larger:
    """Whether both sides of every goal agree on random numbers, on all seeds, at the largest shapes that are run."""
    for shapes, growths in GROWTHS.items():
        for grow in growths:
            try:
                found = [_differing(stage, columns, exhaustive, Sizes(grow=grow), seed) for seed in SEEDS]
            except TooLarge:
                continue
            except ArithmeticError:
                return Larger("")
            except (ShapeError, ValueError, IndexError) as error:
                return Larger(shapes, f"it cannot be run: {error}")
            return Larger(shapes, f"{found[0]} differs" if all(found) else "")
    return Larger("")


class TooLarge(Exception):
    """A node has more elements than are run on numbers."""


def _differing(stage: Stage, columns: int, exhaustive: bool, sizes: Sizes, seed: int) -> str:
    random = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        found = goals(stage, columns, exhaustive, lambda meaning, shrunk: Drawn(meaning, shrunk, random), sizes)
        return next((str(goal.name) for goal in found if _apart(goal)), "")


def _apart(goal: Goal) -> bool:
    single, parallel = (np.asarray(side, dtype=float) for side in (goal.single, goal.parallel))
    if single.shape != parallel.shape:
        return True
    known = np.isfinite(single) & np.isfinite(parallel)
    alike = np.where(known, True, (single == parallel) | (np.isnan(single) & np.isnan(parallel)))
    greatest = np.abs(single[known]).max(initial=0.0)
    near = np.abs(single - parallel)[known] <= OF_GREATEST * greatest + RELATIVE * np.abs(single[known])
    return not (alike.all() and near.all())


class Drawn(Side):
    """The single-device node on random numbers."""

    def __init__(self, meaning: Meaning, shrunk: Shrunk, random: np.random.Generator) -> None:
        self.random = random
        super().__init__(meaning, shrunk, Terms())

    def require_few(self) -> None:
        """Raises TooLarge where running the node takes long."""
        if count(self.meaning, self.shrunk) > MOST_ELEMENTS:
            raise TooLarge

    def symbols(self, position: int, mark: str) -> Array:
        """Random numbers for an input, integers of those that it may hold; zeros where a gradient is absent."""
        signature, shape = self.meaning.signature, self.shapes[position]
        if signature.shapes[position] is None:
            return np.zeros(shape)
        if signature.dtypes[position].startswith("complex"):
            shape = (*shape, 2)
        integers = self.integers(position)
        if integers is None:
            return self.random.uniform(-1, 1, shape)
        table = self.rule.indices.get(position - signature.grads) if position >= signature.grads else None
        size = self.shrunk.sizes.get(table) if table else None
        rows = Integers(-FAR, FAR) if size is None else Integers(0, size - 1)
        known = integers.both(rows)
        return self.random.choice([known.at(place) for place in range(known.size or 0)] or [0], shape)
