"""The report: one frozen value with all that a run found. Text, JSON and the exit status are made from it."""

from dataclasses import dataclass, field
from enum import Enum
from typing import assert_never

from verdict.graph import Plan
from verdict.outcome import Assumption, Finding
from verdict.report.evidence import Due, Evidence, Open, lacking
from verdict.report.picture import Picture
from verdict.report.questions import NOT_ESTABLISHED

VERSION = 1
"""The version of the JSON form. It grows when a field changes its meaning or goes."""


class Verdict(Enum):
    """The answer. The value is the exit status."""

    PROVED = 0
    REFUTED = 1
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class Side:
    """The size of one plan."""

    source: str
    format: str
    mesh: tuple[tuple[str, int], ...]
    ranks: int
    microbatches: int
    nodes: int
    weights: int
    replicas: int = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """What one solver said of the proved obligations when asked anew, as plain arithmetic, each once.

    unsat: it agrees, on every scalar equality that was in the question; sampled: how many of these questions held a
    sample of the equalities. unknown: it gave up. too_large: not asked.
    """

    solver: str
    unsat: int
    sampled: int
    unknown: int
    too_large: int

    @property
    def obligations(self) -> int:
        """How many there were."""
        return self.unsat + self.unknown + self.too_large


@dataclass(frozen=True, slots=True)
class Proofs:
    """stages: single-device nodes with parallel partners; distinct: stages that were asked, each once; laws: axis
    laws that were asked beside them.

    obligations: scalar equalities in both; methods: by what they were closed. identical: distinct stages in
    which both sides are one and the same term, so that nothing is left to ask; confirmed: those in which z3
    was asked and agreed on every equality that is left. solvers: what each said of all of them, asked anew.
    full, larger: how many of the distinct stages and laws were run on numbers besides, at full shapes or at larger ones
    than they were proved at.
    """

    stages: int = 0
    distinct: int = 0
    laws: int = 0
    obligations: int = 0
    identical: int = 0
    confirmed: int = 0
    methods: tuple[tuple[str, int], ...] = ()
    solvers: tuple[Asked, ...] = ()
    full: int = 0
    larger: int = 0


@dataclass(frozen=True, slots=True)
class Sweep:
    """What the sweep proved where the walk left questions open.

    steps: of the parallel plan on all ranks, in all microbatches. claims: that elements it computes are single-device
    ones; distinct: those that were proved, each once. methods: scalar equalities of these by what closed them.
    outputs: declared outputs that were compared. shapes: at which shapes, in words. larger: at which ones both plans
    were run on numbers besides, "" where at none.
    solvers: what each said of the distinct claims, asked anew.
    replicas: for how many the one stands that was looked at, where the walk has proved that they add up.
    islands: between how many groups of cut points of the walk, 0 where the whole plan was swept; then outputs are the
    cut points, and steps those of the distinct islands.
    """

    steps: int
    claims: int
    distinct: int
    methods: tuple[tuple[str, int], ...]
    outputs: int
    shapes: str
    larger: str
    replicas: int = 1
    solvers: tuple[Asked, ...] = ()
    islands: int = 0


@dataclass(frozen=True, slots=True)
class Repair:
    """A repair. codes, findings: what it removes. plan: with this and all other repairs that were found.

    proved: whether that plan is PROVED. sentence: the repair, and what it achieves.
    """

    codes: tuple[str, ...]
    sentence: str
    plan: Plan
    proved: bool
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Proved:
    """Every declared output is what it must be, on every rank that holds it."""

    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Refuted:
    """Something is wrong."""

    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something was neither proved nor refuted."""

    open: tuple[Open, ...]


Answer = Proved | Refuted | Unknown


@dataclass(frozen=True, slots=True)
class Report:
    """What a run found. The same plans and options give the same report, whatever the number of workers.

    single, parallel: both plans in figures: file, ranks, mesh, microbatches, nodes, weights. findings: what is wrong,
    one for each cause, the earliest first. assumptions: what the verdict rests on and is not proved. proofs: figures of
    the stages that were proved. What a verdict claims: docs/soundness.md.
    due, evidence: what must be established, and what was. open: the questions that were met on the way.
    losses, gradients, outputs: what was compared, as the single-device plan declares it.
    notes: findings that stand beside the verdict and do not change it.
    swept: how the sweep decided the pair, where the walk did not. repairs: of a refuted plan, those proved first.
    pictures: of the findings, for those who look; nothing that is not in them.
    """

    single: Side
    parallel: Side
    findings: tuple[Finding, ...]
    open: tuple[Open, ...]
    assumptions: tuple[Assumption, ...]
    proofs: Proofs
    due: Due = field(default_factory=Due)
    evidence: Evidence = field(default_factory=Evidence)
    losses: int = 0
    gradients: int = 0
    outputs: int = 0
    notes: tuple[Finding, ...] = ()
    swept: Sweep | None = None
    repairs: tuple[Repair, ...] = ()
    pictures: tuple[Picture, ...] = ()

    @property
    def answer(self) -> Answer:
        """REFUTED where anything is wrong; PROVED where nothing is open and the evidence covers all that is due."""
        if self.findings:
            return Refuted(self.findings)
        unanswered = self.unanswered
        return Unknown(unanswered) if unanswered else Proved(self.evidence)

    @property
    def unanswered(self) -> tuple[Open, ...]:
        """What keeps plans that are not refuted from being PROVED: open questions, else what nothing establishes."""
        return self.open or (() if self.findings else lacking(self.due, self.evidence))

    @property
    def asked(self) -> tuple[Open, ...]:
        """Of what is unanswered, that on which the rest of it rests: all where there is no such."""
        return tuple(item for item in self.unanswered if item.code != NOT_ESTABLISHED) or self.unanswered

    @property
    def verdict(self) -> Verdict:
        """The answer in a word."""
        match self.answer:
            case Proved():
                return Verdict.PROVED
            case Refuted():
                return Verdict.REFUTED
            case Unknown():
                return Verdict.UNKNOWN
            case never:
                assert_never(never)


@dataclass(frozen=True, slots=True)
class Measured:
    """What differs from run to run: seconds of each phase in their order, and the peak of memory in MiB."""

    seconds: tuple[tuple[str, float], ...]
    peak_memory_mib: float
    workers: int

    @property
    def total(self) -> float:
        """Seconds of all phases."""
        return sum(seconds for _, seconds in self.seconds)
