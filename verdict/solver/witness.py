"""What points show of equalities: that one fails, for certain, or that each has a value somewhere."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from verdict.options import SolverOptions
from verdict.outcome import Refuted
from verdict.solver.boundary import boundary_points
from verdict.solver.certify import certainly_defined, certainly_different
from verdict.solver.errors import LimitError, SolverError, VacuousError
from verdict.solver.falsify import Candidate, Floats, Sampled, falsify
from verdict.solver.obligation import Element, Point
from verdict.solver.refute import Signs, refute
from verdict.solver.sampling import ALIKE, POINTS, point, sample
from verdict.solver.term import Term
from verdict.solver.terms import Terms

_POINTS_TO_EXHIBIT = 8
"""At how many points, of different kinds, both sides are shown to have values; an element that has none at any of them
is not proved.
"""
TOLD_APART = "some values of what it is made from tell the two sides apart; no numbers that both plans were run on do"
"""Of a claim without a proof, where nothing says that such values occur."""
_CERTIFIED = 2
"""How many candidates are certified where no counterexample is asked for; one that differs ends the proof."""


@dataclass(frozen=True, eq=False, slots=True)
class Question:
    """What the steps share: the factory, the variables that the premises eliminated, points, options."""

    terms: Terms
    pivots: dict[Term, Term]
    columns: dict[Term, Floats]
    options: SolverOptions
    deadline: float

    @staticmethod
    def of(terms: Terms, pivots: dict[Term, Term], sampled: Sequence[Element], options: SolverOptions) -> "Question":
        """About some equalities, which are looked at at random points."""
        roots = [side for element in sampled for side in (element.single, element.parallel)]
        order = terms.below([*roots, *pivots.values()])
        deadline = monotonic() + options.timeout
        return Question(terms, pivots, sample(order, options.seed), options, deadline)

    def in_time(self) -> None:
        """Raises LimitError when no further step may begin."""
        if monotonic() > self.deadline:
            raise LimitError(f"not decided within {self.options.timeout} seconds")


def at_random(question: Question, sampled: Sequence[Element]) -> Refuted | None:
    """A refutation at a random point. Raises VacuousError for what has a value at none."""
    allowed = Signs(question.terms, question.pivots).hold_in(question.columns, POINTS)
    seen = falsify(sampled, question.columns, allowed)
    refuted = _shown(question, sampled, seen.candidates)
    if refuted is None:
        _reject_vacuous(sampled, seen, question.columns)
    return refuted


def at_boundaries(question: Question, wanted: Sequence[Element]) -> Refuted | None:
    """A refutation where a mask, a maximum or a step changes."""
    order = question.terms.below([side for e in wanted for side in (e.single, e.parallel)])
    columns = boundary_points(order, question.columns)
    if not columns:
        return None
    count = len(next(iter(columns.values())))
    allowed = Signs(question.terms, question.pivots).hold_in(columns, count)
    return _shown(question, wanted, falsify(wanted, columns, allowed).candidates)


def replay(
    question: Question, wanted: Sequence[Element], proposal: Point | None, undefined: bool = False
) -> Refuted | None:
    """A refutation by what a solver proposes. undefined: where the parallel side has no value."""
    if proposal is None:
        return None
    inputs = {**point(question.columns, 0), **proposal}
    return _shown(question, wanted, [Candidate(element, inputs, undefined) for element in wanted])


def exhibiting(question: Question) -> Question:
    """The same question, of which a counterexample is asked."""
    return replace(question, options=replace(question.options, exhibit=True))


def place_of(element: Element) -> str:
    """An equality in words: its goal and index."""
    return f"{element.goal}[{', '.join(map(str, element.index))}]"


def _shown(question: Question, wanted: Sequence[Element], candidates: Sequence[Candidate]) -> Refuted | None:
    """A refutation by one of some candidates. Raises SolverError where no counterexample is asked for: what differs
    there for certain has no proof, and no point is made small. No element is a counterexample in which some number is
    unknown: it may be another one.
    """
    if question.options.exhibit:
        known = [c for c in candidates if question.terms.unknown.keys().isdisjoint(_below(c.element))]
        return refute(question.terms, wanted, known, question.pivots)
    if any(certainly_different([c.element], c.point) for c in candidates[:_CERTIFIED]):
        raise SolverError(TOLD_APART)
    return None


def _below(element: Element) -> list[Term]:
    return element.single.terms.below([element.single, element.parallel])


def _reject_vacuous(sampled: Sequence[Element], seen: Sampled, columns: dict[Term, Floats]) -> None:
    """Each element must certainly have a value on both sides somewhere, or its proof would say nothing."""
    rows = [row for row, e in enumerate(sampled) if not (e.single.total and e.parallel.total)]
    defined = seen.defined.copy()
    for _ in range(_POINTS_TO_EXHIBIT):
        if not rows:
            return
        best = int(defined[rows].sum(axis=0).argmax())
        shown = certainly_defined([sampled[row] for row in rows], point(columns, best))
        rows = [row for row in rows if sampled[row] not in shown]
        defined[:, best - best % ALIKE : best - best % ALIKE + ALIKE] = False
    if rows:
        raise VacuousError(f"{place_of(sampled[rows[0]])}: no input was found at which both sides are defined")
