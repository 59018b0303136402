"""What an instruction makes on one device: numbers that are known, or a value of the recording."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.backends.hlo.ranges import Span, span_of
from verdict.backends.hlo.spelled import CONSTANT, Spelled, spelled, with_numbers
from verdict.backends.hlo.text import DTYPES, Array, Instruction, Tuple
from verdict.backends.torch.trace import Step, Tape, Value
from verdict.errors import ShapeError
from verdict.ops import RULES
from verdict.ops.domain import of_type
from verdict.ops.types import kind

EXACT, MOST_EXACT = frozenset({"float32", "float64"}), 1 << 23
"""Types in which sums of whole numbers up to a greatest one are whole numbers."""
MOST_KNOWN = 1 << 20
"""Up to so many elements are computed while a module is read; positions and masks of its plans are as many."""


class Refused(Exception):
    """What an instruction does has no meaning here. The text is a clause."""


class Known(NamedTuple):
    """Integers or truth values that depend on no input."""

    array: npt.NDArray[np.int64]
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.array.shape


class Made(NamedTuple):
    """A value of the recording, by its number."""

    number: int
    shape: tuple[int, ...]
    dtype: str


Leaf = Known | Made


@dataclass(frozen=True, slots=True)
class Counted:
    """Integers or truth values that depend on nothing but which turn of a loop it is: what they are in each."""

    turns: tuple[Known, ...]


class Place(NamedTuple):
    """Where rows lie. words: in each turn. cut: the sizes along the dimensions in which a row is smaller than an array,
    and the lengths of these. is_all: whether all turns together take each row of an array once.
    """

    words: str
    cut: Mapping[int, tuple[int, int]]
    is_all: bool = False

    def sizes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of a row."""
        return tuple(self.cut[dim][0] if dim in self.cut else length for dim, length in enumerate(shape))


@dataclass(frozen=True, slots=True)
class Stacked:
    """An array in which a turn of a loop has written a row."""

    array: Made
    row: Leaf
    place: Place


Found = Leaf | Counted | Stacked | tuple["Found", ...]


class Recording:
    """The recording of one device while its module is evaluated."""

    def __init__(self) -> None:
        self.tape = Tape()
        self._constants: dict[tuple[object, ...], int] = {}
        self._spelled: dict[Spelled, int] = {}
        self._scalars: dict[int, int | float] = {}
        self._spans: dict[int, Span] = {}
        self._makers: dict[int, Step] = {}
        self._looked = 0

    def number(self, value: Leaf) -> int:
        """The number of a value in the recording; known numbers are written there, once."""
        return value.number if isinstance(value, Made) else self._written(spelled(value.array, value.dtype))

    def _written(self, made: Spelled) -> int:
        """The number of what a node makes that reads nothing that is given."""
        if made.op == CONSTANT:
            return self.constant(made.attrs["values"], made.shape, made.dtype).number
        if made not in self._spelled:
            inputs, value = [self._written(each) for each in made.read], Value(made.shape, made.dtype)
            self._spelled[made] = self.tape.emit(made.op, inputs, (value,), made.attrs, made.name)[0]
        return self._spelled[made]

    def constant(self, values: tuple[int | float, ...], shape: tuple[int, ...], dtype: str) -> Made:
        """A constant, the same where it has been before."""
        key = (tuple(map(repr, values)), shape, dtype)
        if key not in self._constants:
            attrs = {"shape": shape, "values": values, "dtype": dtype}
            name = "constant" if shape else f"constant {values[0]}"
            self._constants[key] = self.tape.emit(CONSTANT, (), (Value(shape, dtype),), attrs, name)[0]
            if shape == ():
                self._scalars[self._constants[key]] = values[0]
        return Made(self._constants[key], shape, dtype)

    def scalar(self, value: Leaf) -> int | float | None:
        """The number that a scalar is, where it is known."""
        if isinstance(value, Known):
            return int(value.array.reshape(-1)[0]) if value.array.size == 1 else None
        return self._scalars.get(value.number)

    def span(self, value: Leaf) -> Span | None:
        """Between which integers the elements of a value lie, where that is known."""
        if isinstance(value, Made):
            return self._spans.get(value.number)
        return (int(value.array.min()), int(value.array.max())) if value.array.size else None

    def given(self, value: Made, span: Span | None) -> Made:
        """A value that is given, of which a range may be stated."""
        if span is not None:
            self._spans[value.number] = span
        return value

    def maker(self, value: Made) -> Step | None:
        """What makes a value; None of what is given, and of what several values are made of."""
        for step in self.tape.steps[self._looked :]:
            self._makers |= {step.outputs[0]: step} if len(step.outputs) == 1 else {}
        self._looked = len(self.tape.steps)
        return self._makers.get(value.number)

    def read(self, step: Step) -> tuple[Made, ...]:
        """The values that a step reads."""
        return tuple(Made(number, *self.tape.values[number]) for number in step.inputs)

    def emit_several(
        self, op: str, operands: tuple[Leaf, ...], values: Sequence[Value], name: str, attrs: dict[str, Any]
    ) -> tuple[Made, ...]:
        """The arrays that an operator makes of values. Raises Refused."""
        _require_fit(op, operands, values, attrs)
        inputs = [self.number(operand) for operand in operands]
        numbers = self.tape.emit(op, inputs, tuple(values), attrs, name)
        return tuple(Made(number, *value) for number, value in zip(numbers, values, strict=True))

    def _numbered(
        self, op: str, operands: tuple[Leaf, ...], value: Value, name: str, attrs: dict[str, Any]
    ) -> int:  # fmt: skip
        """The number of what an operator makes; beside numbers that are one everywhere it is that of one operand."""
        numbers = [_one_number(operand) if value.shape else None for operand in operands]
        found = with_numbers(op, numbers, attrs)
        if found is not None:
            op, place, attrs = found
            operands = operands[place : place + 1]
        return self.tape.emit(op, [self.number(operand) for operand in operands], (value,), attrs, name)[0]

    def emit(self, op: str, operands: tuple[Leaf, ...], value: Value, name: str, attrs: dict[str, Any]) -> Leaf:
        """What an operator makes of values: computed at once where all of these are known. Raises Refused."""
        shape, dtype = value
        made = _computed(op, operands, shape, dtype, attrs)
        if made is not None:
            return made
        _require_fit(op, operands, (value,), attrs)
        number = self._numbered(op, operands, Value(shape, dtype), name, attrs)
        span = span_of(op, [self.span(operand) for operand in operands], dtype)
        if shape == () and dtype in EXACT:
            known = _exact(op, [self.scalar(operand) for operand in operands])
            self._scalars.update({} if known is None else {number: known})
        return self.given(Made(number, shape, dtype), span)


def _exact(op: str, read: list[int | float | None]) -> int | float | None:
    """The whole number that an operator makes of such numbers, each of which every type of EXACT has."""
    values = [value for value in read if value is not None and abs(value) <= MOST_EXACT and value == int(value)]
    if len(values) < len(read):
        return None
    match op, values:
        case "hlo.convert", (value,):
            return value
        case "hlo.add", (one, other):
            return one + other
        case "hlo.subtract", (one, other):
            return one - other
    return None


def _one_number(value: Leaf) -> int | None:
    """The integer that all elements of a known value are."""
    if isinstance(value, Made) or value.dtype == "bool" or not value.array.size:
        return None
    first = int(value.array.flat[0])
    return first if bool((value.array == first).all()) else None


def whole(dtype: str) -> bool:
    """Whether a type is of integers or truth values."""
    return of_type(dtype) is not None


def array_of(each: Instruction) -> Array:
    """The shape of an instruction that makes one array of a type that has a meaning. Raises Refused."""
    if isinstance(each.shape, Tuple):
        raise Refused("it makes a tuple")
    if each.shape.dtype not in DTYPES:
        raise Refused(f"elements of type {each.shape.dtype} have no meaning here")
    return each.shape


def wrapped(array: npt.NDArray[Any], dtype: str) -> npt.NDArray[np.int64]:
    """Exact integers in the width of a type; of truth values, whether they are not 0."""
    if dtype == "bool":
        return np.asarray(array != 0, dtype=np.int64)
    bits = int("".join(filter(str.isdigit, dtype)))
    size, low = 1 << bits, 0 if dtype.startswith("u") else -(1 << bits - 1)
    if bits < 64:
        return np.asarray(np.mod(array - low, size) + low, dtype=np.int64)
    if any(not -(1 << 62) <= int(value) < 1 << 62 for value in array.flat):
        raise Refused("integers of 64 bits beyond 2^62 are not computed")
    return np.asarray(array, dtype=np.int64)


def _computed(
    op: str, operands: tuple[Leaf, ...], shape: tuple[int, ...], dtype: str, attrs: dict[str, Any]
) -> Known | None:
    """What an operator makes of known integers, by its own rule; None where some are not known."""
    if not whole(dtype) or int(np.prod(shape, dtype=np.int64)) > MOST_KNOWN:
        return None
    arrays = [operand.array for operand in operands if isinstance(operand, Known)]
    if len(arrays) < len(operands):
        return None
    _require_fit(op, operands, (Value(shape, dtype),), attrs)
    try:
        (made,) = RULES[op].forward([array.astype(object) for array in arrays], attrs)
        return Known(wrapped(np.asarray(made, dtype=object), dtype), dtype)
    except (ZeroDivisionError, IndexError, TypeError, ValueError, OverflowError):
        return None


def _require_fit(op: str, operands: tuple[Leaf, ...], values: Sequence[Value], attrs: dict[str, Any]) -> None:
    """An instruction's shapes and types must be what its operator makes."""
    due = tuple(shape for shape, _ in values)
    try:
        made = RULES[op].axes([operand.shape for operand in operands], attrs).output_shapes
    except ShapeError as error:
        raise Refused(error.problem) from None
    if tuple(made) != due:
        named = [" and ".join(str(list(shape)) for shape in shapes) for shapes in (due, made)]
        raise Refused(f"its shape is {named[0]} where its operands make {named[1]}")
    allowed = RULES[op].types([kind(operand.dtype) for operand in operands], attrs)
    for place, (_, dtype) in enumerate(values):
        known = allowed[min(place, len(allowed) - 1)]
        if known is not None and kind(dtype) not in known:
            raise Refused(f"it makes {dtype} where {op} makes {' or '.join(sorted(known))} of its operands")
