"""A pair as a value, and the plans that it stands for."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from verdict.backends.generator import Sizes, generate
from verdict.backends.pairs.outline import Outline, complete
from verdict.backends.text import read, write
from verdict.errors import PlanFileError
from verdict.graph import Plan

Lines = tuple[str, ...]
Choices = tuple[tuple[str, int | str], ...]
Hunk = tuple[Lines, Lines]


@dataclass(frozen=True)
class Pair:
    """One file. Its plans are generated (`model`, `sizes`), or written in the file (`outlines`).

    about: the comment at its head, of which the first line is the title.
    expected, notes: codes of findings and of notes. says: what titles hold.
    place, ranks: the names of which the first finding must name one, and the ranks at which it must be; none are any.
    missed: what of all this Verdict is known not to reach.
    denied: assumptions under whose denial it is expected.
    sources, category, parallelism: of a bug that was reported somewhere.
    reported_right: the right plan is what was reported as a bug.
    single: sizes in which the single-device plan differs. hunks: the lines before and after each edit.
    outlines: the single-device plan, the right parallel plan, and the one with the bug.
    """

    name: str
    about: Lines
    expected: Lines
    notes: Lines = ()
    says: Lines = ()
    place: Lines = ()
    ranks: tuple[int, ...] = ()
    missed: Lines = ()
    denied: Lines = ()
    sources: Lines = ()
    category: str = ""
    parallelism: str = ""
    reported_right: bool = False
    model: str = ""
    sizes: Choices = ()
    single: Choices = ()
    hunks: tuple[Hunk, ...] = ()
    outlines: tuple[Outline, ...] = ()

    @property
    def recorded(self) -> bool:
        """Its plans are written or generated."""
        return False

    @property
    def title(self) -> str:
        """What went wrong, in one line."""
        return self.about[0] if self.about else ""

    def plans(self) -> tuple[Plan, Plan]:
        """The single-device plan, and the parallel plan with the bug in it. Raises PlanFileError."""
        if self.outlines:
            return self._written(2)
        lines = list(_text(self.model, self.sizes))
        place = 0
        for before, after in self.hunks:
            place = _find(self.name, lines, before, place)
            lines[place : place + len(before)] = after
            place += len(after)
        single, _ = _generate(self.model, (*self.sizes, *self.single))
        return single, read("\n".join(lines).encode(), self.name)

    def twin(self) -> tuple[Plan, Plan]:
        """The two plans without the bug. Raises PlanFileError."""
        return self._written(1) if self.outlines else _generate(self.model, self.sizes)

    def _written(self, which: int) -> tuple[Plan, Plan]:
        single = complete(self.outlines[0], f"{self.name}, single")
        parallel = complete(self.outlines[which], f"{self.name}, parallel", single)
        return single, parallel


def _generate(model: str, sizes: Choices) -> tuple[Plan, Plan]:
    given: dict[str, Any] = dict(sizes)
    return generate(model, Sizes(**given))


@cache
def _text(model: str, sizes: Choices) -> Lines:
    """The lines of the right parallel plan."""
    return tuple(write(_generate(model, sizes)[1]).split("\n"))


def _find(name: str, lines: list[str], wanted: Lines, start: int) -> int:
    for place in range(start, len(lines) - len(wanted) + 1):
        if tuple(lines[place : place + len(wanted)]) == wanted:
            return place
    raise PlanFileError(name, f"the plan has no lines {wanted}")
