"""The words that all rooms share: the answer to one question, and what it was taken on trust."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Assumption:
    """Something a verdict rests on that was not proved. `name` is what --assume and --deny-assumption take."""

    name: str
    text: str


@dataclass(frozen=True)
class Mismatch:
    """One element of a goal at which the two sides differ, under the witness of the refutation."""

    goal: str
    index: tuple[int, ...]
    single: Fraction | float
    parallel: Fraction | float


@dataclass(frozen=True)
class Proved:
    """Every goal holds. `methods` counts elements by what closed them; `confirmed` says whether z3 agreed."""

    methods: tuple[tuple[str, int], ...] = ()
    confirmed: bool = False


@dataclass(frozen=True)
class Refuted:
    """Some goal fails. `witness` gives every input element a value under which `mismatches` replay."""

    witness: tuple[tuple[str, Fraction], ...]
    mismatches: tuple[Mismatch, ...]


@dataclass(frozen=True)
class Unknown:
    """Neither proved nor refuted, and why."""

    reason: str


Outcome = Proved | Refuted | Unknown


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a plan, as data. Text is made of it in the report room alone.

    extent: at how many places. evidence: what it is about, for the diagnosis and the repair; not for people.
    """

    code: str
    title: str
    where: str
    notes: tuple[str, ...] = ()
    help: str = ""
    extent: int = 1
    values: tuple[Mismatch, ...] = ()
    evidence: Hashable = None
