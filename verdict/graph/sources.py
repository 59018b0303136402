"""Where the nodes of a plan come from: lines of the program that was recorded, or of the text that was read."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from verdict.graph.plan import Plan
from verdict.outcome import Source

_CITED = re.compile(r"([^\s():,]+):(\d+)(?::(\d+))? ([^\s(),]+)")


class Cited(NamedTuple):
    """A place in a program. line, column: from 1; column 0 where it is not known. function: which it is part of."""

    file: str
    line: int
    column: int
    function: str

    def __str__(self) -> str:
        """As names of nodes cite it: what `cited_in` reads."""
        return f"{self.file}:{self.line}{f':{self.column}' if self.column else ''} {self.function}"


def cited_in(name: str) -> Cited | None:
    """The first place of a program that the name of a node cites; None where it cites none."""
    found = _CITED.search(name)
    if found is None:
        return None
    file, line, column, function = found.groups()
    return Cited(file, int(line), int(column or 0), function)


def up_to_cited(name: str) -> str | None:
    """The name of a node up to the first place that it cites and with it; None where it cites none."""
    found = _CITED.search(name)
    return None if found is None else name[: found.end()]


def in_short(name: str) -> str:
    """A name with the lines that it cites, without columns and functions."""
    return _CITED.sub(lambda found: f"{found[1]}:{found[2]}", name)


def source_of(plan: Plan, where: str) -> Source | None:
    """The line to which the place of a finding belongs, a node on ranks in words: of the program that was recorded,
    else of the text that the plan was read from.
    """
    cited = cited_in(where)
    if cited is not None:
        text = next((own.text for own in plan.sources if (own.file, own.line) == cited[:2]), "")
        return Source(cited.file, cited.line, cited.column, text)
    node = where.rpartition(" on rank")[0]
    line = next(_lines(plan, node), None) if node else None
    return Source(plan.source, line) if line is not None else None


def _lines(plan: Plan, spelled: str) -> Iterator[int]:
    """The lines of the text at which a node stands that is called so."""
    for segment, lines in zip(plan.segments, plan.lines, strict=False):
        for node, line in zip(segment.nodes, lines, strict=True):
            if spelled in (node.name, f"{node.op} {node.name}"):
                yield line
