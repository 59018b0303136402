"""Deciding an obligation: a straight list of steps, from the cheapest and surest on.

1 premises solved  2 the same node  3 falsified on floats and certified  4 normal forms, what both sides share first
taken for variables  5 denominators cleared, both only of what is not rejected modulo a prime
6 boundary points, then Z3, for what is left  7 the parallel side defined wherever the single side is,
and the single side wherever the parallel side is, where that is asked for
8 Z3 on what the other methods proved. What no step closes is Unknown, never a guess.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from time import monotonic

from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved, Refuted, Unknown
from verdict.solver.boundary import boundary_points
from verdict.solver.cases import otherwise
from verdict.solver.certify import certainly_defined, certainly_different
from verdict.solver.clear import vanishes
from verdict.solver.domains import Unmet, has_condition, unmet
from verdict.solver.errors import BudgetError, InternalError, LimitError, SolverError, VacuousError
from verdict.solver.falsify import Candidate, Floats, Sampled, falsify
from verdict.solver.normal import NormalForms, shared
from verdict.solver.obligation import Element, Obligation, Point, elements
from verdict.solver.polynomial import combine
from verdict.solver.premises import solve, substitute
from verdict.solver.refute import Signs, refute
from verdict.solver.residues import Residues
from verdict.solver.ring import Ring
from verdict.solver.sampling import ALIKE, POINTS, point, sample
from verdict.solver.smt import Answer, ask, ask_condition, batches
from verdict.solver.term import Kind, Term
from verdict.solver.terms import Terms

NO_FORM = "the two sides are no one formula, and what bounds them at reduced shapes may not at full ones"
_POINTS_TO_EXHIBIT = 8
"""At how many points, of different kinds, both sides are shown to have values; an element that has none at any of them
is not proved.
"""
_FIRST = 4
"""Which part of the work goes at most into forms with what both sides share taken for variables: 1 / 4."""
_CERTIFIED = 2
"""How many candidates are certified where no counterexample is asked for; one that differs ends the proof."""


@dataclass(frozen=True, eq=False, slots=True)
class _Question:
    """What the steps share: the factory, the variables that the premises eliminated, points, options."""

    terms: Terms
    pivots: dict[Term, Term]
    columns: dict[Term, Floats]
    options: SolverOptions
    deadline: float

    def in_time(self) -> None:
        """Raises LimitError when no further step may begin."""
        if monotonic() > self.deadline:
            raise LimitError(f"not decided within {self.options.timeout} seconds")


def check(obligation: Obligation, options: SolverOptions) -> Outcome:
    """Whether all goals hold for all inputs that satisfy the premises. Deterministic for one seed.

    Raises InternalError where two methods contradict each other.
    """
    try:
        pivots = solve(obligation.terms, obligation.premises)
        wanted = _under(pivots, elements(obligation))
    except SolverError as error:
        return Unknown(str(error))

    def decided(some: Sequence[Element], how: SolverOptions) -> Outcome:
        try:
            return _decide(obligation, pivots, some, how)
        except SolverError as error:
            return Unknown(str(error))

    outcome = decided(wanted, options)
    proved = otherwise(obligation, wanted, decided, options) if isinstance(outcome, Unknown) else None
    return proved or outcome


def _decide(
    obligation: Obligation, pivots: dict[Term, Term], wanted: Sequence[Element], options: SolverOptions
) -> Outcome:
    _reject_undefined_reference(wanted)
    different = [element for element in wanted if element.single is not element.parallel]
    partial = [e for e in wanted if e.single is e.parallel and not e.single.total and has_condition(e.single)]
    if not different and not partial:
        return Proved((("same", len(wanted)),), options.z3)
    question = _question(obligation.terms, pivots, different + partial, options)
    refuted = _falsify(question, different + partial)
    if refuted is not None:
        return refuted
    _reject_undefined_parallel(different)
    forms = NormalForms(Ring(options.term_limit))
    apart = Residues().different(different)
    whole = shared(obligation.terms, [element for element in different if element not in apart])
    left = dict.fromkeys(different, "")
    for each in [NormalForms(Ring(options.term_limit, _FIRST), whole)] * bool(whole) + [forms]:
        left = _not_closed_by_form(question, each, list(left), apart)
    uncleared = _not_closed_by_clearing(question, forms, left, apart)
    if uncleared:
        outcome = _falsify_at_boundaries(question, list(uncleared)) or _close_by_z3(question, uncleared)
        if outcome is not None:
            return outcome
    outcome = _defined_wherever(question, unmet(wanted, forms))
    if outcome is None and obligation.both:
        turned = [replace(e, single=e.parallel, parallel=e.single) for e in wanted]
        if _defined_wherever(question, unmet(turned, forms)) is not None:
            outcome = Unknown("the parallel side may have a value where the single side has none")
    if outcome is not None:
        return outcome
    methods = {
        "same": len(wanted) - len(different),
        "normal-form": len(different) - len(left),
        "cleared": len(left) - len(uncleared),
        "z3": len(uncleared),
    }
    confirmed = _confirmed(question, [e for e in different if e not in uncleared])
    return Proved(tuple((name, count) for name, count in methods.items() if count), confirmed)


def _under(pivots: dict[Term, Term], wanted: Sequence[Element]) -> tuple[Element, ...]:
    if not pivots or not wanted:
        return tuple(wanted)
    terms = wanted[0].single.terms
    done = substitute(terms, [side for e in wanted for side in (e.single, e.parallel)], pivots)
    return tuple(replace(e, single=done[e.single], parallel=done[e.parallel]) for e in wanted)


def _reject_undefined_reference(wanted: Sequence[Element]) -> None:
    for element in wanted:
        if element.single.kind is Kind.UNDEFINED:
            raise VacuousError(f"{_place(element)}: the single side is undefined: {element.single.data}")


def _reject_undefined_parallel(wanted: Sequence[Element]) -> None:
    for element in wanted:
        if element.parallel.kind is Kind.UNDEFINED:
            raise SolverError(f"{_place(element)}: the parallel side is undefined: {element.parallel.data}")


def _question(terms: Terms, pivots: dict[Term, Term], sampled: Sequence[Element], options: SolverOptions) -> _Question:
    roots = [side for element in sampled for side in (element.single, element.parallel)]
    order = terms.below([*roots, *pivots.values()])
    deadline = monotonic() + options.timeout
    return _Question(terms, pivots, sample(order, options.seed), options, deadline)


def _falsify(question: _Question, sampled: Sequence[Element]) -> Refuted | None:
    allowed = Signs(question.terms, question.pivots).hold_in(question.columns, POINTS)
    seen = falsify(sampled, question.columns, allowed)
    refuted = _shown(question, sampled, seen.candidates)
    if refuted is None:
        _reject_vacuous(sampled, seen, question.columns)
    return refuted


def _shown(question: _Question, wanted: Sequence[Element], candidates: Sequence[Candidate]) -> Refuted | None:
    """A refutation by one of some candidates. Raises SolverError where no counterexample is asked for: what differs
    there for certain has no proof, and no point is made small. No element is a counterexample in which some number is
    unknown: it may be another one.
    """
    if question.options.exhibit:
        known = [c for c in candidates if question.terms.unknown.keys().isdisjoint(_below(c.element))]
        return refute(question.terms, wanted, known, question.pivots)
    if any(certainly_different([c.element], c.point) for c in candidates[:_CERTIFIED]):
        raise SolverError("the two sides differ at a sampled point")
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
        raise VacuousError(f"{_place(sampled[rows[0]])}: no input was found at which both sides are defined")


Left = dict[Element, str]
"""Elements that are not closed, each with the budget that it exceeded, or nothing."""


def _not_closed_by_form(
    question: _Question, forms: NormalForms, wanted: Sequence[Element], apart: Set[Element]
) -> Left:
    """The elements without one normal form; of those in `apart` it is known, and none is made."""
    left = dict.fromkeys(wanted, "")
    likely = [element for element in wanted if element not in apart]
    question.in_time()
    forms.add(question.terms.below([side for e in likely for side in (e.single, e.parallel)], forms.whole))
    for element in likely:
        try:
            if forms.of(element.single) == forms.of(element.parallel):
                del left[element]
        except LimitError as error:
            left[element] = _budget(error)
    return left


def _not_closed_by_clearing(question: _Question, forms: NormalForms, wanted: Left, apart: Set[Element]) -> Left:
    left = dict(wanted)
    for element in [e for e in wanted if e not in apart]:
        question.in_time()
        try:
            difference = combine([(forms.of(element.single), 1), (forms.of(element.parallel), -1)])
            if vanishes(forms.ring, difference):
                del left[element]
        except LimitError as error:
            left[element] = _budget(error)
    return left


def _budget(error: LimitError) -> str:
    """The budget that was exceeded; nothing where there is no normal form for another reason."""
    return f": {error}" if isinstance(error, BudgetError) else ""


def _falsify_at_boundaries(question: _Question, wanted: Sequence[Element]) -> Refuted | None:
    order = question.terms.below([side for e in wanted for side in (e.single, e.parallel)])
    columns = boundary_points(order, question.columns)
    if not columns:
        return None
    count = len(next(iter(columns.values())))
    allowed = Signs(question.terms, question.pivots).hold_in(columns, count)
    return _shown(question, wanted, falsify(wanted, columns, allowed).candidates)


def _close_by_z3(question: _Question, wanted: Left) -> Refuted | Unknown | None:
    """None where Z3 proves each element."""
    for element, budget in wanted.items():
        question.in_time()
        undecided = Unknown(f"{_place(element)}: neither proved nor refuted, one of {len(wanted)} elements{budget}")
        if not question.options.bounds:
            return Unknown(f"{_place(element)}: {NO_FORM}{budget}")
        if not question.options.z3 or batches([element]) is None:
            return undecided
        answer = ask([element], question.options)
        refuted = _replay(question, [element], answer.proposal)
        if refuted is not None:
            return refuted
        if not answer.proved:
            return undecided
    return None


def _replay(
    question: _Question, wanted: Sequence[Element], proposal: Point | None, undefined: bool = False
) -> Refuted | None:
    if proposal is None:
        return None
    inputs = {**point(question.columns, 0), **proposal}
    return _shown(question, wanted, [Candidate(element, inputs, undefined) for element in wanted])


def _defined_wherever(question: _Question, conditions: Sequence[Unmet]) -> Refuted | Unknown | None:
    """None where Z3 shows that the parallel side's `conditions` follow from the single side's."""
    for condition, element in conditions:
        question.in_time()
        asked = question.options.z3 and question.options.bounds and condition.need is not None
        answer = ask_condition(condition, element, question.options) if asked else Answer(False)
        refuted = _replay(question, [element], answer.proposal, undefined=True)
        if refuted is not None:
            return refuted
        if not answer.proved:
            return Unknown(f"the parallel side needs {condition}, which the single side does not ensure")
    return None


def _confirmed(question: _Question, proved: Sequence[Element]) -> bool:
    """Whether Z3 agrees with all that was proved. Raises InternalError where it shows the contrary."""
    questions = batches(proved) if question.options.z3 and question.options.confirms else None
    if questions is None:
        return False
    options = replace(question.options, z3_timeout=question.options.confirm_timeout, exhibit=True)
    for batch in questions:
        answer = ask(batch, options)
        refuted = _replay(replace(question, options=options), batch, answer.proposal)
        if refuted is not None:
            raise InternalError(f"proved by normal form and refuted at {refuted.witness}")
        if not answer.proved:
            return False
    return True


def _place(element: Element) -> str:
    return f"{element.goal}[{', '.join(map(str, element.index))}]"
