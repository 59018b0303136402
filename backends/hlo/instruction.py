"""An instruction where it is evaluated: its operands, the numbers in its attributes, the computation that it names."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from verdict.backends.hlo.text import DTYPES, Computation, Instruction, Module, split
from verdict.backends.hlo.values import Leaf, Recording, Refused, array_of
from verdict.backends.torch.trace import Value
from verdict.graph.sources import Cited

REDUCERS = {"add": "sum", "maximum": "max", "minimum": "min", "and": "and", "or": "or"}
"""Operators that a computation may reduce by, and what collectives call them."""
ASSIGN = "assign"
_PLACE = re.compile(r'source_file="(?:[^"]*/)?([^"\s():,]+)" source_line=(\d+)(?: source_function="([^"\s(),]+)")?')


class At(NamedTuple):
    """An instruction where it is evaluated."""

    module: Module
    recording: Recording
    each: Instruction
    operands: tuple[Leaf, ...]

    def emit(self, op: str, operands: tuple[Leaf, ...] | None = None, **attrs: Any) -> Leaf:
        """The node of this instruction."""
        shape = array_of(self.each)
        given = self.operands if operands is None else operands
        return self.recording.emit(op, given, Value(shape.dims, DTYPES[shape.dtype]), named(self.each), attrs)

    def numbers(self, key: str) -> tuple[int, ...]:
        """The numbers of an attribute {0,1}; none where it is not there."""
        return numbers(self.each.attrs.get(key, "{}"))

    def reducer(self, key: str = "to_apply") -> str:
        """By which operator the computation reduces. Raises Refused where it is no single one."""
        name = self.each.attrs.get(key, "").lstrip("%")
        found = self.module.computations.get(name)
        how = None if found is None else reducer_of(found)
        if how is None:
            raise Refused(f"its computation {name} is no single operator that is known")
        return how


def named(each: Instruction) -> str:
    """What people call an instruction: by name and line, and by the place in the program that it says it is of."""
    found = _PLACE.search(each.attrs.get("metadata", ""))
    place = str(Cited(found[1], int(found[2]), 0, found[3] or "step")) if found else ""
    return f"{place}{': ' * bool(place)}{each.name}, line {each.line}"


def numbers(text: str) -> tuple[int, ...]:
    """The numbers in {0,1,2}. Raises Refused."""
    words = split(text.strip("{}"))
    if not all(word.lstrip("-").isdecimal() for word in words):
        raise Refused(f"{text[:40]} is no list of numbers")
    return tuple(map(int, words))


def reducer_of(computation: Computation) -> str | None:
    """The operator of a computation of two scalars, copies left aside; ASSIGN where it is the second one; None for any
    other.
    """
    copied = {each.name: each.operands[0] for each in computation.instructions if each.opcode == "copy"}
    known = {each.name: each for each in computation.instructions if each.name not in copied}
    parameters = sorted(each.name for each in known.values() if each.opcode == "parameter")
    root = known[_original(computation.root.name, copied)]
    if root.opcode == "parameter":
        return ASSIGN if len(parameters) == 2 and root.literal == "1" else None
    read = sorted(_original(name, copied) for name in root.operands)
    if len(known) != 3 or parameters != read or len(parameters) != 2:
        return None
    return root.opcode if root.opcode in REDUCERS else None


def _original(name: str, copied: Mapping[str, str]) -> str:
    while name in copied:
        name = copied[name]
    return name
