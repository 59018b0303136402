"""A plan in outline: the lines of the plan language without what follows from them.

    x input [4, 3]                       a declaration, as in the table of tensors; float32 where no dtype is said
    w weight [5, 3]
    y = linear(x, w)                     a node
    seed dy                              declared outputs and seeds, as in the plan language

What is completed: the head of the file (every rank of the mesh is a plan device of its own), one family of all
devices, one segment that runs once, and the table of tensors. A tensor that no line declares has the shape and the
dtype of the single-device plan's tensor of that name; where there is none, the whole of what its node makes. Lines
`family`, `segment` and `call` may be written where this does not fit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from verdict.backends.pairs.shapes import Table, describe
from verdict.backends.text import FORMAT, read
from verdict.backends.text.values import Family
from verdict.backends.text.words import KINDS, Line
from verdict.graph import Logical, Plan, Shape

_HEADS = ("replicas", "microbatches", "batch", "shard", "range", "assume")
_OF_FAMILY = ("family", "segment", "call", "loss", "gradient", "output", "seed", "storage")
_DECLARATION = re.compile(rf"\S+ ({'|'.join(KINDS)}) ")
_STATEMENT = re.compile(rf"({'|'.join((*_HEADS, *_OF_FAMILY))}) +(?![=,({{\[])")


@dataclass(frozen=True)
class Outline:
    """mesh: axes and sizes of all ranks, the slowest first; empty for one device."""

    mesh: tuple[tuple[str, int], ...]
    lines: tuple[str, ...]


def complete(outline: Outline, source: str, single: Plan | None = None) -> Plan:
    """The plan of an outline, beside that of the single device. Raises PlanFileError."""
    devices = prod(size for _, size in outline.mesh)
    statements = [line.strip() for line in outline.lines if line.strip() and not line.strip().startswith("#")]
    declared = [line for line in statements if _DECLARATION.match(line)]
    heads = [line for line in statements if _is(line, _HEADS)]
    programs = _programs([line for line in statements if line not in declared and line not in heads], devices)
    table = Table({} if single is None else {logical.name: logical for logical in single.logicals})
    for line in declared:
        table.declare(Line(source, 0, line))
    mesh = (("replicas", 1), *outline.mesh)
    for line in statements:
        _declare_seed(table, source, line)
    for family, lines in programs:
        shares = Family.of(_devices(family), mesh, devices)
        held: dict[str, Shape] = {}
        for line in lines:
            if not _is(line, _OF_FAMILY):
                describe(Line(source, 0, line), shares, table, held)
    text = [
        FORMAT, f"mesh {' '.join(f'{axis}={size}' for axis, size in mesh)}", f"devices {devices}",
        *heads, "tensors", *(_entry(logical) for logical in table.used()),
        *(line for family, lines in programs for line in (f"family {family}", *_indented(lines))), "end",
    ]  # fmt: skip
    return read("\n".join(text).encode(), source)


def _is(line: str, words: tuple[str, ...]) -> bool:
    match = _STATEMENT.match(line)
    return match is not None and match.group(1) in words


def _programs(lines: Sequence[str], devices: int) -> list[tuple[str, list[str]]]:
    """The families and their lines, each with a segment that is called."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if _is(line, ("family",)):
            found.append((line.removeprefix("family").strip(), []))
            continue
        if not found:
            found.append((f"0:{devices}", []))
        found[-1][1].append(line)
    return [(family, _called(program)) for family, program in found]


def _called(lines: list[str]) -> list[str]:
    if any(_is(line, ("segment",)) for line in lines):
        return lines
    return ["segment step", *lines, "call step 0"]


def _indented(lines: Sequence[str]) -> list[str]:
    """Nodes below their segment: what is declared of a family stands behind its segments."""
    nodes = [line if _is(line, ("segment",)) else f"  {line}" for line in lines if not _is(line, _OF_FAMILY[2:])]
    return [*nodes, *(line for line in lines if _is(line, _OF_FAMILY[2:]))]


def _devices(family: str) -> tuple[int, ...]:
    bounds = (word.partition(":") for word in family.split())
    return tuple(device for start, _, stop in bounds for device in range(int(start), int(stop or int(start) + 1)))


def _declare_seed(table: Table, source: str, line: str) -> None:
    name = line.removeprefix("seed ").strip()
    if _is(line, ("seed",)) and table.get(name) is None:
        table.declare(Line(source, 0, f"{name} gradient [1]"))


def _entry(logical: Logical) -> str:
    shape = ", ".join(map(str, logical.shape))
    return f"  {logical.name} {logical.kind} {logical.dtype} [{shape}] origin name"
