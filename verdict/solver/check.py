"""Deciding an obligation: a straight list of steps, from the cheapest and surest on.

1 premises solved  2 the same node  3 falsified on floats and certified  4 normal forms
5 denominators cleared  6 the parallel side defined wherever the single side is.
What is left is Unknown, never a guess.
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.options import SolverOptions
from verdict.outcome import Outcome, Proved, Refuted, Unknown
from verdict.solver.clear import vanishes
from verdict.solver.domains import unmet
from verdict.solver.errors import LimitError, SolverError, VacuousError
from verdict.solver.falsify import falsify
from verdict.solver.normal import NormalForms
from verdict.solver.obligation import Element, Obligation, elements
from verdict.solver.polynomial import combine
from verdict.solver.premises import solve, substitute
from verdict.solver.refute import refute, within_signs
from verdict.solver.ring import Ring
from verdict.solver.sampling import points, sample, variables
from verdict.solver.term import Kind, Term


def check(obligation: Obligation, options: SolverOptions) -> Outcome:
    """Whether all goals hold for all inputs that satisfy the premises. Deterministic for one seed."""
    try:
        return _decide(obligation, options)
    except SolverError as error:
        return Unknown(str(error))


def _decide(obligation: Obligation, options: SolverOptions) -> Outcome:
    terms = obligation.terms
    pivots = solve(terms, obligation.premises)
    wanted = _under(pivots, elements(obligation))
    _reject_undefined(wanted)
    different = [element for element in wanted if element.single is not element.parallel]
    methods = {"same": len(wanted) - len(different)}
    sampled = [element for element in wanted if element in set(different) or not element.single.total]
    if sampled:
        refuted = _falsify(obligation, options, sampled, pivots)
        if refuted is not None:
            return refuted
    forms = NormalForms(Ring(options.term_limit))
    left, methods["normal-form"] = _close_by_form(forms, different)
    left, methods["cleared"] = _close_by_clearing(forms, left)
    if left:
        return Unknown(f"{_place(left[0])}: not decided, {len(left)} of {len(wanted)} elements")
    condition = unmet(different, forms)
    if condition is not None:
        return Unknown(f"the parallel side needs {condition}, the single side does not")
    return Proved(tuple((name, count) for name, count in methods.items() if count))


def _under(pivots: dict[Term, Term], wanted: Sequence[Element]) -> tuple[Element, ...]:
    if not pivots or not wanted:
        return tuple(wanted)
    terms = wanted[0].single.terms
    done = substitute(terms, [side for e in wanted for side in (e.single, e.parallel)], pivots)
    return tuple(replace(e, single=done[e.single], parallel=done[e.parallel]) for e in wanted)


def _reject_undefined(wanted: Sequence[Element]) -> None:
    for element in wanted:
        if element.single.kind is Kind.UNDEFINED:
            raise VacuousError(f"{_place(element)}: the single side is undefined: {element.single.data}")


def _falsify(
    obligation: Obligation, options: SolverOptions, sampled: Sequence[Element], pivots: dict[Term, Term]
) -> Refuted | None:
    terms = obligation.terms
    order = terms.below([side for e in sampled for side in (e.single, e.parallel)] + list(pivots.values()))
    columns = sample(variables(order), options.seed)
    allowed = within_signs(terms, pivots)(points(columns))
    seen = falsify(sampled, columns, allowed)
    refuted = refute(terms, sampled, seen.candidates, pivots)
    if refuted is not None:
        return refuted
    for element in sampled:
        if element not in seen.defined:
            raise VacuousError(f"{_place(element)}: no input was found at which both sides are defined")
    return None


def _close_by_form(forms: NormalForms, wanted: Sequence[Element]) -> tuple[list[Element], int]:
    left = []
    for element in wanted:
        forms.add(element.single.terms.below((element.single, element.parallel)))
        try:
            equal = forms.of(element.single) == forms.of(element.parallel)
        except LimitError:
            equal = False
        if not equal:
            left.append(element)
    return left, len(wanted) - len(left)


def _close_by_clearing(forms: NormalForms, wanted: Sequence[Element]) -> tuple[list[Element], int]:
    left = []
    for element in wanted:
        try:
            difference = combine([(forms.of(element.single), 1), (forms.of(element.parallel), -1)])
            closed = vanishes(forms.ring, difference)
        except LimitError:
            closed = False
        if not closed:
            left.append(element)
    return left, len(wanted) - len(left)


def _place(element: Element) -> str:
    return f"{element.goal}[{', '.join(map(str, element.index))}]"
