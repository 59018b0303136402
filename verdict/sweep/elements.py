"""Numbers for scalar elements: a constant, an element of what is given, or of what a step of either plan makes.

Element 0 is the constant zero, so that what pads an array with zeros pads it with element 0.
"""

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from fractions import Fraction
from math import prod
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import Shape

Ids = npt.NDArray[np.int64]
Constant = Fraction | float
"""An exact number, or minus infinity."""


class Kind(Enum):
    """What makes an element. SINGLE and PARALLEL are steps of the two flows."""

    CONSTANT = "constant"
    GIVEN = "given"
    SINGLE = "single"
    PARALLEL = "parallel"


class Block(NamedTuple):
    """Elements that are numbered side by side: those of output `output` of step `owner`, or of logical `owner`."""

    start: int
    kind: Kind
    owner: int
    output: int
    shape: Shape
    constant: Constant = Fraction(0)


class Elements:
    """Hands out numbers and tells what each stands for."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.starts: list[int] = []
        self.count = 0
        self._constants: dict[Constant, int] = {}
        self._starts = np.zeros(64, dtype=np.int64)
        self.constant(Fraction(0))

    def block(self, kind: Kind, owner: int, output: int, shape: Shape) -> Ids:
        """Fresh numbers for the elements of an array of `shape`."""
        size = prod(shape)
        ids = np.arange(self.count, self.count + size, dtype=np.int64).reshape(shape)
        if size:
            self._add(Block(self.count, kind, owner, output, shape), size)
        return ids

    def constant(self, value: Constant) -> int:
        """The number of a constant; equal constants have one number."""
        if value not in self._constants:
            self._constants[value] = self.count
            self._add(Block(self.count, Kind.CONSTANT, -1, 0, (), value), 1)
        return self._constants[value]

    def _add(self, block: Block, size: int) -> None:
        if len(self.starts) == len(self._starts):
            self._starts = np.concatenate([self._starts, np.zeros_like(self._starts)])
        self._starts[len(self.starts)] = block.start
        self.blocks.append(block)
        self.starts.append(block.start)
        self.count += size

    def of(self, element: int) -> Block:
        """The block in which an element is."""
        return self.blocks[bisect_right(self.starts, element) - 1]

    def blocks_of(self, elements: Ids) -> list[Block]:
        """The blocks that these elements are in, each once, in their order."""
        if not elements.size:
            return []
        first, last = (bisect_right(self.starts, int(end)) - 1 for end in (elements.min(), elements.max()))
        if first == last:
            return [self.blocks[first]]
        found = np.unique(np.searchsorted(self._starts[: len(self.starts)], elements.ravel(), side="right") - 1)
        return [self.blocks[number] for number in found]

    def constants(self, elements: Ids) -> list[Constant] | None:
        """The values of elements that are all constants; None where one is not."""
        if elements.size and self.of(int(elements.flat[0])).kind is not Kind.CONSTANT:
            return None
        blocks = self.blocks_of(elements)
        if any(block.kind is not Kind.CONSTANT for block in blocks):
            return None
        values = {block.start: block.constant for block in blocks}
        return [values[int(element)] for element in elements.ravel()]


def of_numbers(elements: Elements, array: Sequence[object] | npt.NDArray[np.object_]) -> Ids | None:
    """The numbers of an array of exact constants; None where one of them is not exact."""
    values = np.asarray(array, dtype=object)
    ids = np.empty(values.shape, dtype=np.int64)
    for index, value in np.ndenumerate(values):
        if isinstance(value, int | np.integer | Fraction):
            ids[index] = elements.constant(Fraction(int(value)) if not isinstance(value, Fraction) else value)
        elif isinstance(value, float) and value == float("-inf"):
            ids[index] = elements.constant(value)
        else:
            return None
    return ids
