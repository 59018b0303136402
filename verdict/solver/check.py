"""Deciding an obligation: a straight list of steps, from the cheapest and surest on.

1 premises solved, and counts freed of bounds (`bounded`)  2 the same node  3 falsified on floats and certified
4 normal forms, what both sides share first taken for variables
5 denominators cleared, both only of what is not rejected modulo a prime
6 boundary points, then Z3, for what is left  7 the parallel side defined wherever the single side is,
and the single side wherever the parallel side is, where that is asked for
8 Z3 on what the other methods proved. What no step closes is Unknown, never a guess.
"""

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved, Refuted, Unknown
from verdict.solver.bounded import without_bounds
from verdict.solver.cases import otherwise
from verdict.solver.clear import vanishes
from verdict.solver.domains import Unmet, has_condition, unmet
from verdict.solver.errors import BudgetError, InternalError, LimitError, SolverError, VacuousError
from verdict.solver.normal import NormalForms, shared
from verdict.solver.obligation import Closed, Element, Obligation, elements
from verdict.solver.polynomial import combine
from verdict.solver.premises import solve, substitute
from verdict.solver.proofs import Form, Proofs, forms_of
from verdict.solver.residues import Residues
from verdict.solver.ring import Ring
from verdict.solver.smt import Answer, ask, ask_condition, batches
from verdict.solver.term import Kind, Term
from verdict.solver.witness import Question, at_boundaries, at_random, exhibiting, place_of, replay

NO_FORM = "the two sides are no one formula, and what bounds them at reduced shapes may not at full ones"
_FIRST = 4
"""Which part of the work goes at most into forms with what both sides share taken for variables: 1 / 4."""
METHODS = ("same", "normal-form", "cleared", "z3", "order", "cases")
"""What closes an equality, in the order in which it is counted."""


class Alike(NamedTuple):
    """Equalities of one form, or one that has none."""

    form: Form | None
    members: list[Element]


def check(obligation: Obligation, options: SolverOptions, known: Proofs | None = None) -> Outcome:
    """Whether all goals hold for all inputs that satisfy the premises. Deterministic for one seed.

    known: what was proved before, and is not proved again; what is proved now is noted there. Raises InternalError
    where two methods contradict each other.
    """
    try:
        pivots = solve(obligation.terms, obligation.premises)
        wanted = _under(pivots, elements(obligation))
        wanted = wanted if obligation.both else without_bounds(wanted, options.term_limit)
    except SolverError as error:
        return Unknown(str(error))

    def decided(some: Sequence[Element], how: SolverOptions) -> Closed | Refuted | Unknown:
        try:
            return _decide(obligation, pivots, some, how)
        except SolverError as error:
            return Unknown(str(error))

    kinds = _kinds(obligation, wanted, options)
    before = [_method(kind, known, options) for kind in kinds]
    fresh = [kind for kind, method in zip(kinds, before, strict=True) if not method]
    few = [kind.members[0] for kind in fresh]
    outcome = decided(few, options)
    if isinstance(outcome, Unknown):
        outcome = otherwise(obligation, few, decided, options) or outcome
    if isinstance(outcome, Refuted) and len(few) < len(wanted):
        every = decided(wanted, options)
        outcome = every if isinstance(every, Refuted) else outcome
    if not isinstance(outcome, Closed):
        return outcome
    for kind in fresh:
        if known is not None and kind.form is not None:
            known.note(kind.form, options, outcome.methods[kind.members[0]])
    names = [method or outcome.methods[kind.members[0]] for kind, method in zip(kinds, before, strict=True)]
    return Proved(_counted(kinds, names), outcome.confirmed)


def _kinds(obligation: Obligation, wanted: Sequence[Element], options: SolverOptions) -> list[Alike]:
    """The equalities by their forms, in order."""
    forms = forms_of(obligation, wanted) if options.alike else {}
    found: dict[Form | Element, Alike] = {}
    for element in wanted:
        form = forms.get(element)
        found.setdefault(form or element, Alike(form, [])).members.append(element)
    return list(found.values())


def _method(kind: Alike, known: Proofs | None, options: SolverOptions) -> str | None:
    return known.method(kind.form, options) if known is not None and kind.form is not None else None


def _counted(kinds: Sequence[Alike], names: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """How many equalities each method closed."""
    total: Counter[str] = Counter()
    for kind, name in zip(kinds, names, strict=True):
        total[name] += len(kind.members)
    return tuple((name, total[name]) for name in METHODS if total[name])


def _decide(
    obligation: Obligation, pivots: dict[Term, Term], wanted: Sequence[Element], options: SolverOptions
) -> Closed | Refuted | Unknown:
    _reject_undefined_reference(wanted)
    different = [element for element in wanted if element.single is not element.parallel]
    partial = [e for e in wanted if e.single is e.parallel and not e.single.total and has_condition(e.single)]
    if not different and not partial:
        return Closed(dict.fromkeys(wanted, "same"), options.z3)
    question = Question.of(obligation.terms, pivots, different + partial, options)
    refuted = at_random(question, different + partial)
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
        outcome = at_boundaries(question, list(uncleared)) or _close_by_z3(question, uncleared)
        if outcome is not None:
            return outcome
    outcome = _defined_wherever(question, unmet(wanted, forms))
    if outcome is None and obligation.both:
        turned = [replace(e, single=e.parallel, parallel=e.single) for e in wanted]
        if _defined_wherever(question, unmet(turned, forms)) is not None:
            outcome = Unknown("the parallel side may have a value where the single side has none")
    if outcome is not None:
        return outcome
    confirmed = _confirmed(question, [e for e in different if e not in uncleared])
    methods = dict.fromkeys(wanted, "same") | dict.fromkeys(different, "normal-form")
    return Closed(methods | dict.fromkeys(left, "cleared") | dict.fromkeys(uncleared, "z3"), confirmed)


def _under(pivots: dict[Term, Term], wanted: Sequence[Element]) -> tuple[Element, ...]:
    if not pivots or not wanted:
        return tuple(wanted)
    terms = wanted[0].single.terms
    done = substitute(terms, [side for e in wanted for side in (e.single, e.parallel)], pivots)
    return tuple(replace(e, single=done[e.single], parallel=done[e.parallel]) for e in wanted)


def _reject_undefined_reference(wanted: Sequence[Element]) -> None:
    for element in wanted:
        if element.single.kind is Kind.UNDEFINED:
            raise VacuousError(f"{place_of(element)}: the single side is undefined: {element.single.data}")


def _reject_undefined_parallel(wanted: Sequence[Element]) -> None:
    for element in wanted:
        if element.parallel.kind is Kind.UNDEFINED:
            raise SolverError(f"{place_of(element)}: the parallel side is undefined: {element.parallel.data}")


Left = dict[Element, str]
"""Elements that are not closed, each with the budget that it exceeded, or nothing."""


def _not_closed_by_form(
    question: Question, forms: NormalForms, wanted: Sequence[Element], apart: Set[Element]
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


def _not_closed_by_clearing(question: Question, forms: NormalForms, wanted: Left, apart: Set[Element]) -> Left:
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


def _close_by_z3(question: Question, wanted: Left) -> Refuted | Unknown | None:
    """None where Z3 proves each element."""
    for element, budget in wanted.items():
        question.in_time()
        undecided = Unknown(f"{place_of(element)}: neither proved nor refuted, one of {len(wanted)} elements{budget}")
        if not question.options.bounds:
            return Unknown(f"{place_of(element)}: {NO_FORM}{budget}")
        if not question.options.z3 or batches([element]) is None:
            return undecided
        answer = ask([element], question.options)
        refuted = replay(question, [element], answer.proposal)
        if refuted is not None:
            return refuted
        if not answer.proved:
            return undecided
    return None


def _defined_wherever(question: Question, conditions: Sequence[Unmet]) -> Refuted | Unknown | None:
    """None where Z3 shows that the parallel side's `conditions` follow from the single side's."""
    for condition, element in conditions:
        question.in_time()
        asked = question.options.z3 and question.options.bounds and condition.need is not None
        answer = ask_condition(condition, element, question.options) if asked else Answer(False)
        refuted = replay(question, [element], answer.proposal, undefined=True)
        if refuted is not None:
            return refuted
        if not answer.proved:
            return Unknown(f"the parallel side needs {condition}, which the single side does not ensure")
    return None


def _confirmed(question: Question, proved: Sequence[Element]) -> bool:
    """Whether Z3 agrees with all that was proved. Raises InternalError where it shows the contrary."""
    questions = batches(proved) if question.options.z3 and question.options.confirms else None
    if questions is None:
        return False
    options = replace(question.options, z3_timeout=question.options.confirm_timeout)
    for batch in questions:
        answer = ask(batch, options)
        refuted = replay(exhibiting(question), batch, answer.proposal)
        if refuted is not None:
            raise InternalError(f"proved by normal form and refuted at {refuted.witness}")
        if not answer.proved:
            return False
    return True
