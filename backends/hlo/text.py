"""HLO text -> a module: computations of instructions, each with its shape, opcode, operands and attributes."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from verdict.backends.hlo.frames import TABLES, Frame, frames_of, with_place
from verdict.errors import PlanFileError

DTYPES = {
    **{"pred": "bool", "bf16": "bfloat16", "f16": "float16", "f32": "float32", "f64": "float64"},
    **{f"s{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
"""The element types that have a meaning here, and what plans call them."""
MOST_NESTED = 64
"""How deep brackets may be nested; XLA nests fewer than ten."""
_NAME = r"%?([\w.\-]+)"
_INSTRUCTION = re.compile(rf"\s+(ROOT )?{_NAME} = ")
_COMPUTATION = re.compile(rf"(ENTRY )?{_NAME} (\(.*\) -> .*)?\{{\s*")
_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([0-9, <=?]*)\](\{[^{}]*\})?")
_OPCODE = re.compile(r"\s*([a-z][\w\-]*)\(")
_TABLE = re.compile(rf"({'|'.join(TABLES)}|\d+ .*)\s*")
_COMMENT = re.compile(r"/\*.*?\*/")
_OPEN, _CLOSE = "([{", ")]}"


class Array(NamedTuple):
    """The shape of an array. dtype: HLO's word for it. layout: as written, empty where none is."""

    dtype: str
    dims: tuple[int, ...]
    layout: str = ""


class Tuple(NamedTuple):
    """The shape of a tuple."""

    parts: tuple["Array | Tuple", ...]


class Instruction(NamedTuple):
    """One instruction. operands: names; of constants and parameters the text between the brackets instead."""

    name: str
    shape: Array | Tuple
    opcode: str
    operands: tuple[str, ...]
    attrs: Mapping[str, str]
    line: int
    literal: str = ""


class Computation(NamedTuple):
    """A function: instructions in an order in which each stands behind its operands, and the one that is its result."""

    name: str
    instructions: tuple[Instruction, ...]
    root: Instruction


@dataclass(frozen=True, slots=True)
class Module:
    """A whole module. attrs: those in its first line."""

    path: str
    name: str
    attrs: Mapping[str, str]
    computations: Mapping[str, Computation]
    entry: Computation

    @property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters of the entry, in their order."""
        found = [each for each in self.entry.instructions if each.opcode == "parameter"]
        return tuple(sorted(found, key=lambda each: int(each.literal)))

    def wrong(self, at: Instruction, problem: str) -> PlanFileError:
        """The error that an instruction is not what it must be."""
        return PlanFileError(f"{self.path}, line {at.line}", f"{at.opcode} {at.name}: {problem}")


def read_module(text: str, path: str) -> Module:
    """The module that `text` is. Raises PlanFileError, with the line, where it is none."""
    lines = _lines(text)
    head = next(((number, line) for number, line in lines if line.strip()), (1, ""))
    if not head[1].startswith("HloModule "):
        raise PlanFileError(f"{path}, line {head[0]}", "it does not begin with HloModule", "give XLA's HLO text")
    name, *rest = split(head[1].removeprefix("HloModule ").strip())
    computations: dict[str, Computation] = {}
    entry: Computation | None = None
    tables: list[str] = []
    frames: Mapping[int, Frame] = {}
    for number, line in lines:
        if not line.strip() or _TABLE.fullmatch(line):
            tables.append(line)
            continue
        begins = _COMPUTATION.fullmatch(line)
        if begins is None:
            raise PlanFileError(f"{path}, line {number}", f"no computation begins here: {_short(line)}")
        frames = frames if computations else frames_of(tables)
        made = _computation(begins.group(2), lines, path, number, frames)
        if made.name in computations:
            raise PlanFileError(f"{path}, line {number}", f"there are two computations named {made.name}")
        computations[made.name] = made
        entry = made if begins.group(1) else entry
    if entry is None:
        raise PlanFileError(path, "it has no ENTRY computation", "is the file whole?")
    return _ordered(Module(path, name, _attrs(rest), computations, entry))


def _ordered(module: Module) -> Module:
    """The module, whose parameters must be numbered from 0 on."""
    found = [each.literal for each in module.parameters]
    if found != [str(k) for k in range(len(found))]:
        raise PlanFileError(module.path, f"the parameters of ENTRY are numbered {', '.join(found)}, not from 0 on")
    return module


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines and their numbers, without comments; an instruction whose brackets are open goes on in the next."""
    begun, open_, first = "", 0, 1
    for number, line in enumerate(text.splitlines(), 1):
        plain = "" if line.startswith("//") else _COMMENT.sub("", line) if "/*" in line else line
        first = first if begun else number
        begun = f"{begun} {plain.strip()}" if begun else plain
        if " = " not in begun or _COMPUTATION.fullmatch(begun):
            yield first, begun
            begun = ""
            continue
        open_ = _depth(begun)
        if open_ <= 0:
            yield first, begun
            begun = ""
    if begun:
        yield first, begun


def _depth(line: str) -> int:
    depth = 0
    for letter in _unquoted(line):
        depth += (letter in _OPEN) - (letter in _CLOSE)
    return depth


def _unquoted(text: str) -> Iterator[str]:
    """The letters; a blank for each in quotes."""
    quoted = escaped = False
    for letter in text:
        if quoted:
            quoted, escaped = letter != '"' or escaped, letter == "\\" and not escaped
            yield " "
        else:
            quoted = letter == '"'
            yield " " if quoted else letter


def split(text: str) -> list[str]:
    """The parts of `text` between commas that stand in no brackets and no quotes."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(_unquoted(text)):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth == 0:
            parts.append(text[begin:place].strip())
            begin = place + 1
    last = text[begin:].strip()
    return [*parts, last] if last or parts else []


def _computation(
    name: str, lines: Iterator[tuple[int, str]], path: str, begun: int, frames: Mapping[int, Frame]
) -> Computation:
    made: list[Instruction] = []
    root: Instruction | None = None
    known: set[str] = set()
    for number, line in lines:
        if line.startswith("}"):
            if not made:
                break
            return Computation(name, tuple(made), root or made[-1])
        if not line.strip():
            continue
        found = _INSTRUCTION.match(line)
        if found is None:
            raise PlanFileError(f"{path}, line {number}", f"no instruction: {_short(line)}")
        each = _instruction(found.group(2), line[found.end() :], path, number, frames)
        foreign = [operand for operand in each.operands if operand not in known]
        if foreign or each.name in known:
            problem = f"it reads {foreign[0]}, which stands nowhere before it" if foreign else "its name occurs twice"
            raise PlanFileError(f"{path}, line {number}", f"{each.opcode} {each.name}: {problem}")
        known.add(each.name)
        made.append(each)
        root = each if found.group(1) else root
    raise PlanFileError(f"{path}, line {begun}", f"computation {name} does not end or is empty", "is the file whole?")


def _instruction(name: str, text: str, path: str, line: int, frames: Mapping[int, Frame]) -> Instruction:
    try:
        shape, rest = _shape(text)
        found = _OPCODE.match(rest)
        if found is None:
            raise ValueError("it has no opcode")
        inside, behind = _bracketed(rest, found.end() - 1)
        attrs = _attrs(split(behind.lstrip(", ")))
        attrs |= {"metadata": with_place(attrs["metadata"], frames)} if frames and "metadata" in attrs else {}
    except ValueError as error:
        raise PlanFileError(f"{path}, line {line}", f"{name}: {error}") from None
    opcode = found.group(1)
    if opcode in ("constant", "parameter"):
        if opcode == "parameter" and not inside.strip().isdecimal():
            raise PlanFileError(f"{path}, line {line}", f"{name}: parameter {_short(inside)} has no number")
        return Instruction(name, shape, opcode, (), attrs, line, inside.strip())
    operands = tuple(operand.split(" ")[-1].lstrip("%") for operand in split(inside))
    return Instruction(name, shape, opcode, operands, attrs, line)


def _shape(text: str, depth: int = 0) -> tuple[Array | Tuple, str]:
    """The shape that `text` begins with, and the rest."""
    if depth > MOST_NESTED:
        raise ValueError("its shape is nested too deep")
    if text.startswith("("):
        inside, rest = _bracketed(text, 0)
        parts = []
        for part in split(inside):
            shape, left = _shape(part, depth + 1)
            if left.strip():
                raise ValueError(f"{_short(part)} is no shape")
            parts.append(shape)
        return Tuple(tuple(parts)), rest
    found = _ARRAY.match(text)
    if found is None:
        if text.startswith("token[]"):
            return Array("token", ()), text.removeprefix("token[]")
        raise ValueError(f"{_short(text)} is no shape")
    sizes = found.group(2)
    if not re.fullmatch(r"(\d+(,\s*\d+)*)?", sizes):
        raise ValueError(f"[{sizes}] are no sizes that stand fast")
    return Array(found.group(1), tuple(map(int, split(sizes))), found.group(3) or ""), text[found.end() :]


def _bracketed(text: str, start: int) -> tuple[str, str]:
    """What stands between the bracket at `start` and its other end, and what stands behind."""
    depth = 0
    for place, letter in enumerate(_unquoted(text[start:]), start):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if depth == 0:
            return text[start + 1 : place], text[place + 1 :]
    raise ValueError("a bracket is not closed")


def _attrs(parts: list[str]) -> dict[str, str]:
    """Attributes by name. What stands behind a comma in a mesh of devices belongs to the attribute before it."""
    found: dict[str, str] = {}
    for part in parts:
        key, sign, value = part.partition("=")
        if not sign:
            raise ValueError(f"{_short(part)} is no attribute")
        found[key.strip()] = value.strip()
    return found


def _short(text: str) -> str:
    return text.strip() if len(text.strip()) <= 60 else text.strip()[:57] + "..."
