"""Steps that only move elements: found by running the operator itself on tokens that know no arithmetic.

Whatever such an operator hands out is one of its tokens, or a constant that it adds (the zeros of a padding). So its
outputs are known to be those elements, for all values, without any proof. Inputs that are constants, as places of rows
and masks are, may decide which: where tokens in their places are not enough, they are what they are.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
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


Fixed = Mapping[int, Array]
"""Inputs that are constants, by their places."""


class Moves:
    """The moves of steps, found once for each operator, attributes, shapes and constants that decide."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, tuple[Shape, ...], tuple[bytes, ...]], Move | None] = {}

    def of(self, key: int, step: Step, inputs: Sequence[Ids], elements: Elements) -> tuple[Ids | None, ...] | None:
        """The elements that the outputs of `step` consist of; None where it computes. key: that of `Keys`."""
        move = self._found(key, step, inputs, {})
        if move is None:
            held = [(place, ids, elements.constants(ids)) for place, ids in enumerate(inputs)]
            fixed = {place: _array(values, ids.shape) for place, ids, values in held if values is not None}
            move = self._found(key, step, inputs, fixed) if 0 < len(fixed) < len(inputs) else None
        if move is None:
            return None
        constants = of_numbers(elements, list(move.constants))
        if constants is None:
            return None
        side = np.concatenate([constants[::-1], *(ids.ravel() for ids in inputs)])
        first = len(constants)
        return tuple(None if output is None else side[output + first] for output in move.outputs)

    def _found(self, key: int, step: Step, inputs: Sequence[Ids], fixed: Fixed) -> Move | None:
        shapes = tuple(ids.shape for ids in inputs)
        known = key, shapes, tuple(ids.tobytes() if place in fixed else b"" for place, ids in enumerate(inputs))
        if known not in self._known:
            self._known[known] = move_of(step, shapes, fixed)
        return self._known[known]


def _array(values: Sequence[object], shape: Shape) -> Array:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def move_of(step: Step, shapes: Sequence[Shape], fixed: Fixed = MappingProxyType({})) -> Move | None:
    """What a step hands on, of inputs of these shapes; None where it computes."""
    count, arrays = 0, []
    for place, shape in enumerate(shapes):
        if place in fixed:
            arrays.append(fixed[place])
            count += fixed[place].size
            continue
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
