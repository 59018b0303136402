"""Steps that only move elements: found by running the operator itself on tokens that know no arithmetic.

Whatever such an operator hands out is one of its tokens, or a constant that it adds (the zeros of a padding). So its
outputs are known to be those elements, for all values, without any proof.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.graph import Shape
from verdict.ops import Array
from verdict.sweep.elements import Elements, Ids, of_numbers
from verdict.sweep.flow import CANNOT, Step, apply


class Token:
    """An element without any arithmetic."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise TypeError("a token cannot be compared")

    def __bool__(self) -> bool:
        raise TypeError("a token has no truth value")


class Move(NamedTuple):
    """For each output and each element of it, which element of all inputs side by side it is, or -1 - (number of a
    constant).
    """

    outputs: tuple[npt.NDArray[np.int64] | None, ...]
    constants: tuple[object, ...]


class Moves:
    """The moves of steps, found once for each operator, attributes and shapes."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Shape, ...]], Move | None] = {}

    def of(self, key: int, step: Step, inputs: Sequence[Ids], elements: Elements) -> tuple[Ids | None, ...] | None:
        """The elements that the outputs of `step` consist of; None where it computes. key: that of `Keys`."""
        shapes = tuple(ids.shape for ids in inputs)
        if (key, shapes) not in self._known:
            self._known[key, shapes] = move_of(step, shapes)
        move = self._known[key, shapes]
        if move is None:
            return None
        constants = of_numbers(elements, list(move.constants))
        if constants is None:
            return None
        side = np.concatenate([constants[::-1], *(ids.ravel() for ids in inputs)])
        first = len(constants)
        return tuple(None if output is None else side[output + first] for output in move.outputs)


def move_of(step: Step, shapes: Sequence[Shape]) -> Move | None:
    """What a step hands on, of inputs of these shapes; None where it computes."""
    count, arrays = 0, []
    for shape in shapes:
        array = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            array[index] = Token(count)
            count += 1
        arrays.append(array)
    try:
        made = apply(step, arrays)
    except CANNOT:
        return None
    constants: dict[object, int] = {}
    outputs = tuple(None if array is None else _sources(array, constants) for array in made)
    return Move(outputs, tuple(constants))


def _sources(array: Array, constants: dict[object, int]) -> npt.NDArray[np.int64]:
    values = np.asarray(array, dtype=object)
    found = np.empty(values.shape, dtype=np.int64)
    for index, value in np.ndenumerate(values):
        if isinstance(value, Token):
            found[index] = value.number
        else:
            number = Fraction(int(value)) if isinstance(value, int | np.integer) else value
            found[index] = -1 - constants.setdefault(number, len(constants))
    return found
