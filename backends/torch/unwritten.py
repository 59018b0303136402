"""Where what is read of memory that was never written goes: it may lie in tensors as long as nothing is made of it.

Each element that was read so has a mark, and a step hands marks on: element for element, where it computes so; where it
moves, sums or multiplies tensors, to what is made of a marked element. Masks and indices decide where that is; so what
they hold must follow from constants and choices, and is a decision from then on. All else makes all of its results of
marked elements. A product with zero hands a mark on: the memory may hold NaN.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.arguments import bound, decode, is_tensors, operator
from verdict.backends.torch.choices import numbers_in
from verdict.backends.torch.folded import NotFolded, folded
from verdict.backends.torch.replay import apply
from verdict.backends.torch.runs import Blank
from verdict.backends.torch.trace import CHOICE, COMMUNICATION, DECISION, TALKS, UNMODELLED, Step, Tape
from verdict.graph import ABSENT

NEVER_WRITTEN = "memory is read that was never written"
MOST_MARKED = 1 << 18
"""The most elements of a tensor of which it is told which were never written; of a larger one it is all of them."""
_SUMS = frozenset({
    "_to_copy", "_unsafe_view", "alias", "as_strided", "as_strided_scatter", "bmm", "cat", "clone", "constant_pad_nd",
    "diagonal", "diagonal_scatter", "dot", "expand", "flip", "full_like", "gather", "index", "index_add", "index_put",
    "index_select", "masked_fill", "mean", "mm", "mv", "ones_like", "permute", "repeat", "roll", "scatter",
    "scatter_add", "select", "select_backward", "select_scatter", "slice", "slice_backward", "slice_scatter",
    "squeeze", "stack", "sum", "t", "transpose", "unsqueeze", "view", "where", "zeros_like",
})  # fmt: skip
"""Operators whose results are sums of products of elements, each from another tensor, with factors above zero; which
ones, their shapes, masks and indices say.
"""
_DECIDE = frozenset({"index", "indices", "mask", "condition", "self.condition"})
"""Arguments of such operators that say which elements are meant."""


class _Marked(NamedTuple):
    """marks: of each element, whether something is in it that was never written. makers: of that memory."""

    marks: Any
    makers: frozenset[int]


def reaching(tape: Tape, read: Mapping[int, Blank], ends: Iterable[int]) -> frozenset[int]:
    """The steps that allocate memory which is read before it is written, and that a value of `ends`, communication, or
    something that decides is made of. read: what of a value was never written. What clears a mark becomes a decision.
    """
    if not read:
        return frozenset()
    with _disable_current_modes(), torch.no_grad():
        return _Marking(tape, read).run(set(ends))


class _Marking:
    def __init__(self, tape: Tape, read: Mapping[int, Blank]) -> None:
        self._tape, self._read = tape, read
        self._held: dict[int, _Marked] = {}
        self._deciding: dict[int, tuple[Any, str]] = {}

    def run(self, ends: set[int]) -> frozenset[int]:
        found: set[int] = set()
        for step in self._tape.steps:
            read = () if TALKS in dict(step.attrs) else step.inputs  # what is not known is asked for itself
            marked = [self._held[value].makers for value in read if value in self._held]
            if marked and (step.keep or step.op in COMMUNICATION or step.op in (CHOICE, DECISION)):
                found.update(*marked)
            for value, made in zip(step.outputs, self._made(step, frozenset().union(*marked)), strict=True):
                self._keep(value, made)
        for value in (ends | self._tape.python) & self._held.keys():
            found |= self._held[value].makers
        for value in sorted(self._tape.python & self._held.keys()):
            where = self._tape.steps[min(self._held[value].makers)].name
            why = {"reason": f"Python goes on with what it holds: {NEVER_WRITTEN}"}
            self._tape.emit(UNMODELLED, (value,), (), why, f"{NEVER_WRITTEN}: {where}", keep=True)
        for value, (numbers, name) in self._deciding.items():
            attrs = {"how": "what of its memory is read", "values": numbers_in(numbers)}
            self._tape.emit(DECISION, (value,), (), attrs, name, keep=True)
        return frozenset(found)

    def _keep(self, value: int, made: _Marked | None) -> None:
        """What a step makes, and what is read of it where it lies in memory that is not all written."""
        if made is not None and _some(made.marks):
            self._held[value] = made
        blank = self._read.get(value)
        if blank is not None:
            marks, makers = _marks(blank), frozenset({blank.maker})
            old = self._held.get(value)
            self._held[value] = (
                _Marked(marks, makers) if old is None else _Marked(_either(marks, old.marks), makers | old.makers)
            )

    def _made(self, step: Step, makers: frozenset[int]) -> Iterator[_Marked | None]:
        shapes = [None if value == ABSENT else self._tape.values[value].shape for value in step.outputs]
        if not makers:
            yield from (None for _ in shapes)
            return
        marks = self._marks_of(step, [shape for shape in shapes if shape is not None])
        for shape in shapes:
            if shape is None:
                yield None
            else:
                yield _Marked(_all(shape) if marks is None else marks.reshape(shape), makers)

    def _marks_of(self, step: Step, shapes: Sequence[tuple[int, ...]]) -> Any | None:
        """The marks of the only result of a step; None where all of its results are made of marked elements."""
        if not step.op.startswith("aten.") or len(shapes) != 1:
            return None
        inputs = [self._held.get(value) for value in step.inputs]
        sizes = [prod(self._tape.values[value].shape) for value in step.inputs if value != ABSENT]
        if max(*sizes, prod(shapes[0])) > MOST_MARKED:
            return None
        func = operator(step.op)
        if func._schema.name.removeprefix("aten::") in _SUMS:
            return self._of_sums(step, func)
        if torch.Tag.pointwise in func.tags:
            each = [torch.broadcast_to(item.marks, shapes[0]) for item in inputs if item is not None]
            return torch.stack(each).any(0)
        return None

    def _of_sums(self, step: Step, func: Any) -> Any | None:
        """An element of a result hangs on one of an argument where it changes with it, all others being one."""
        deciding, attrs = _deciding(step, func), dict(step.attrs)
        if attrs.get("alpha") == 0 or any(value in self._held for value in deciding):
            return None
        given = dict(zip(deciding, map(self._decided, deciding), strict=True))
        if any(numbers is None for numbers in given.values()):
            return None
        values = self._tape.values
        plain = [given[v] if v in given else torch.ones(values[v].shape, dtype=torch.float64) for v in step.inputs]
        marks: Any = False
        for place, value in enumerate(step.inputs):
            if value in self._held:
                without, within = ([*plain[:place], each, *plain[place + 1 :]] for each in self._ends(value))
                (one,), (other,) = apply(step.op, without, attrs), apply(step.op, within, attrs)
                marks = marks | (one != other)
        self._deciding |= {value: (given[value], step.name) for value in given if value not in self._tape.constant}
        return marks

    def _ends(self, value: int) -> tuple[Any, Any]:
        marks = self._held[value].marks.to(torch.float64)
        return torch.zeros_like(marks), marks

    def _decided(self, value: int) -> Any | None:
        """What a value holds that follows from constants and choices."""
        if value not in self._tape.constant and value not in self._tape.decided:
            return None
        try:
            return folded(self._tape, value)
        except NotFolded:
            return None


def _deciding(step: Step, func: Any) -> list[int]:
    """The inputs of a step that say which elements it means."""
    args, kwargs = decode(func, step.inputs, dict(step.attrs))
    found = ((argument, value) for argument, value in bound(func, args, kwargs) if argument.name in _DECIDE)
    each = (value if isinstance(value, list | tuple) else [value] for argument, value in found if is_tensors(argument))
    return [value for values in each for value in values if value is not None]


def _marks(read: Blank) -> Any:
    if prod(read.size) > MOST_MARKED:
        return _all(read.size)
    places: Any = torch.tensor(read.offset)
    for size, stride in zip(read.size, read.stride, strict=True):
        places = places.unsqueeze(-1) + torch.arange(size) * stride
    starts, stops = (torch.tensor(ends, dtype=torch.int64) for ends in zip(*read.blank, strict=True))
    at = torch.searchsorted(starts, places, right=True) - 1
    return (at >= 0) & (places < stops[at.clamp(min=0)])


def _all(shape: Sequence[int]) -> Any:
    """One mark for all elements, however many they are."""
    return torch.ones((), dtype=torch.bool).expand(tuple(shape))


def _is_all(marks: Any) -> bool:
    """Whether one mark stands for all elements, as `_all` makes them."""
    return bool(marks.numel() and not any(marks.stride()) and marks[(0,) * marks.dim()])


def _some(marks: Any) -> bool:
    """Whether an element is marked."""
    return _is_all(marks) or bool(marks.any())


def _either(one: Any, other: Any) -> Any:
    """The marks of both."""
    return one if _is_all(one) else other if _is_all(other) else one | other
