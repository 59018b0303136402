"""The words that all rooms share: the answer to one question, and what it was taken on trust."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple


@dataclass(frozen=True)
class Assumption:
    """Something a verdict rests on that was not proved. `name` is what --assume and --deny-assumption take."""

    name: str
    text: str


class Spot(NamedTuple):
    """What a goal of a stage is about: an output of one of its members, in a column of the batch."""

    member: int
    column: int
    output: int

    def __str__(self) -> str:
        return f"member {self.member} column {self.column} output {self.output}"


@dataclass(frozen=True)
class Mismatch:
    """One element at which two sides differ. goal: of which equality, or of which tensor, in words."""

    goal: Spot | str
    index: tuple[int, ...]
    single: Fraction | float
    parallel: Fraction | float


@dataclass(frozen=True)
class Answer:
    """What a solver said of an obligation when asked anew, written plainly: `unsat`, `unknown`, or empty where it was
    too large to ask. asked, total: how many of its scalar equalities were in the question.
    """

    solver: str
    said: str
    asked: int
    total: int


@dataclass(frozen=True)
class Proved:
    """Every goal holds. `methods` counts elements by what closed them; `confirmed` says whether z3 agreed on those
    that were left to ask. answers: of each solver that was asked anew. larger: at which shapes, in a word, the sides
    were run on numbers besides, "" where at none.
    """

    methods: tuple[tuple[str, int], ...] = ()
    confirmed: bool = False
    answers: tuple[Answer, ...] = ()
    larger: str = ""


@dataclass(frozen=True)
class Refuted:
    """Some goal fails. `witness` gives every input element a value under which `mismatches` replay."""

    witness: tuple[tuple[str, Fraction], ...]
    mismatches: tuple[Mismatch, ...]

    @property
    def members(self) -> frozenset[int]:
        """The members of a stage that are wrong."""
        return frozenset(wrong.goal.member for wrong in self.mismatches if isinstance(wrong.goal, Spot))


@dataclass(frozen=True)
class Unknown:
    """Neither proved nor refuted, and why."""

    reason: str


Outcome = Proved | Refuted | Unknown


Box = tuple[tuple[int, int], ...]
"""A slice of an array: (start, stop) along its leading axes; all of the others."""


CONCATENATE = "~concatenate"


@dataclass(frozen=True)
class Applied:
    """One step of a calculation: an operator on slices of the inputs of a counterexample, and a slice of its result.

    op: an operator, or with `grads` > 0 its gradient, of which the first `grads` inputs are the gradients of its
    outputs; "" hands on its only input, CONCATENATE joins its inputs along the attribute dim.
    inputs: (number of the input, slice of it). output: which of its outputs. factor: what the result is times.
    """

    op: str
    inputs: tuple[tuple[int, Box], ...]
    attrs: tuple[tuple[str, Hashable], ...] = ()
    grads: int = 0
    output: int = 0
    region: Box = ()
    factor: Fraction = Fraction(1)


Recipe = tuple[Applied, ...]
"""A sum of steps."""


@dataclass(frozen=True)
class Block:
    """A small array for people. values, wrong: element by element, the last axis fastest; wrong may be empty."""

    label: str
    shape: tuple[int, ...]
    values: tuple[Fraction | float, ...]
    wrong: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Counterexample:
    """Inputs for which the two sides differ. Block k of `parallel` must be block k of `single`, and is not.

    at: the size of the example, and what its inputs stand for. recipes: for each pair of blocks how the single
    device and how the parallel ranks compute them from `inputs`; whoever applies them gets the blocks again.
    """

    inputs: tuple[Block, ...]
    single: tuple[Block, ...]
    parallel: tuple[Block, ...]
    at: str
    recipes: tuple[tuple[Recipe, Recipe], ...]


class Source(NamedTuple):
    """A line of a program, or of a file that a plan was read from. line, column: from 1; column 0 where it is not
    known. text: of the line, "" where it is not at hand.
    """

    file: str
    line: int
    column: int = 0
    text: str = ""

    def __str__(self) -> str:
        """As compilers cite it."""
        return f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "")


@dataclass(frozen=True)
class Finding:
    """Something that is wrong with a plan, as data. Text is made of it in the report room alone.

    code: stable, as docs/codes.md lists. title: one sentence. where: FILE:LINE of the plan, or of the program that was
    recorded. notes, help: further sentences; help is what to do, a proved repair where there is one.
    values: elements at which both sides differ. counterexample: small numbers of both sides that show it.
    extent: at how many places. evidence: what it is about, for the diagnosis and the repair; not for people.
    also: the evidence of the same fault at other places (other layers).
    ranks: the plan devices at which it shows. modules: the parts of the model in which it shows ("layers.0").
    single, parallel: the nodes of both sides, one line each.
    kind: what is wrong, but for names of layers, ranks and sizes: findings of one code and kind may have one cause.
    source: the line of the program, or of the plan's text, that is to blame.
    """

    code: str
    title: str
    where: str
    notes: tuple[str, ...] = ()
    help: str = ""
    extent: int = 1
    values: tuple[Mismatch, ...] = ()
    evidence: Hashable = None
    ranks: tuple[int, ...] = ()
    modules: tuple[str, ...] = ()
    single: tuple[str, ...] = ()
    parallel: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    also: tuple[Hashable, ...] = ()
    kind: Hashable = ""
    source: Source | None = None


def joined(first: Finding, others: Sequence[Finding], notes: Sequence[str]) -> Finding:
    """Findings of one cause as one: the first, with the extent, ranks and modules of all, and these notes besides."""
    every = (first, *others)
    return replace(
        first,
        notes=(*first.notes, *notes),
        extent=sum(one.extent for one in every),
        ranks=tuple(sorted({rank for one in every for rank in one.ranks})),
        modules=tuple(dict.fromkeys(name for one in every for name in one.modules if name)),
        also=(
            *first.also,
            *(about for one in others for about in (one.evidence, *one.also) if about is not None),
        ),
    )
