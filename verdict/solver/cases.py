"""Cases: an equality in which a value is guarded, at each value of what its guards are made of.

Where a mask is 1, a choice by it is one of its sides, and what has no value there is not looked at: behind
where(n > 0, s / n, 0) stands a gate, of which nothing is known but that it is the same where it is written alike
(terms.py). With each value of an index, and each sign of what a step asks for, in its place, no gate is left:

    an index               0, 1, ... up to its size
    [v + r > 0]            v = p - r, v = -r, v = -p - r, for a variable v, terms r without it and a positive p
    [t > 0] of any other   1 and 0

An equality of indices alone is one of finitely many numbers, and needs no gate to be decided so.

In every case the equality must hold, and in some of them both sides must have values. Where the single side has none
in a case, nothing is claimed of it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from time import monotonic

from verdict.options import SolverOptions
from verdict.outcome import Refuted, Unknown
from verdict.solver.obligation import Closed, Element, Obligation
from verdict.solver.order import compared
from verdict.solver.premises import rebuild
from verdict.solver.term import Kind, Term, is_step, span_of
from verdict.solver.terms import Terms

MOST_CASES = 256
"""The most cases of one equality."""
MOST_STEPS = 5
"""The most steps, one after the other, of which each case is looked at."""
MOST_DEPTH = 32
"""The most values, one after the other, that stand in one case: each has others beside it, so that what needs more is
seldom settled in so few cases, and it is written out anew for each.
"""
MOST_NODES = 2_000
"""The most terms of an equality that is looked at case by case."""
Substituted = Mapping[Term, Term]
Decide = Callable[[Sequence[Element], SolverOptions], Closed | Refuted | Unknown]


def otherwise(
    obligation: Obligation, wanted: Sequence[Element], decide: Decide, options: SolverOptions
) -> Closed | None:
    """A proof of equalities that have none in one form: of what is greatest as comparisons, or case by case.

    decide: whether equalities hold, in one form. Only at shapes of which bounds may be asked.
    """
    if obligation.premises or not options.bounds or len(wanted) > MOST_CASES:
        return None
    ordered = compared(wanted)
    changed = any(new is not old for new, old in zip(ordered, wanted, strict=True))
    plain = changed and not any(map(_is_guarded, ordered))
    if plain and isinstance(decide(ordered, replace(options, exhibit=False)), Closed):
        return Closed(dict.fromkeys(wanted, "order"))
    if not _splitting(obligation.terms.beneath([side for e in ordered for side in (e.single, e.parallel)])):
        return None
    if all(_guard(element) is None for element in ordered):
        return None
    formal, end = replace(options, exhibit=False, z3=False), monotonic() + options.timeout

    def holds(element: Element) -> bool:
        return monotonic() < end and isinstance(decide((element,), formal), Closed)

    found = all(_Cases(obligation.both, holds).prove(element) for element in ordered)
    return Closed(dict.fromkeys(wanted, "cases")) if found else None


class _Cases:
    """The cases of one equality, as far as they were looked at.

    both: the parallel side must have no value where the single side has none, either. holds: decides one without cases.
    """

    def __init__(self, both: bool, holds: Callable[[Element], bool]) -> None:
        self._both, self._holds = both, holds
        self._left = 2 * MOST_CASES

    def prove(self, element: Element) -> bool:
        """Whether it holds in one form, or in all cases, and not for want of values in all."""
        if len(element.single.terms.beneath([element.single, element.parallel])) > MOST_NODES:
            return False
        return self._holds(element) or self._split(element, 0, 0) == "holds"

    def _split(self, element: Element, steps: int, depth: int) -> str:
        """What is found of an equality with guards: it "holds", has "nothing" to claim, or is "open".

        steps: of how many steps it is a case already; depth: of how many steps and indices.
        """
        variable = _guard(element)
        steps += variable is not None and variable.kind is not Kind.INDEX
        if variable is None or steps > MOST_STEPS or depth > MOST_DEPTH:
            return "open"
        found = set()
        for values in _values(element.single.terms, variable):
            found.add(self._case(_with(element, values), steps, depth + 1))
            if "open" in found:
                return "open"
        return "holds" if "holds" in found else "nothing"

    def _case(self, element: Element, steps: int, depth: int) -> str:
        nowhere = element.single.terms.nowhere
        if element.single in nowhere:
            return "open" if self._both and element.parallel not in nowhere else "nothing"
        self._left -= 1
        if self._left < 0:
            return "open"
        if not _is_guarded(element) and self._holds(element):
            return "holds"
        return self._split(element, steps, depth)


def _is_guarded(element: Element) -> bool:
    return element.single.terms.guarded([element.single, element.parallel])


def _guard(element: Element) -> Term | None:
    """What the cases of an equality are made of next: what the least guard is made of, an index before a step."""
    terms, sides = element.single.terms, [element.single, element.parallel]
    order = terms.beneath(sides)
    if not _is_guarded(element) and any(term.kind is Kind.REAL for term in order):
        return None
    if not _splitting(order):
        return None
    masks = dict.fromkeys(terms.made_of(term)[:1] for term in order if term in terms.unknown)
    guards = [terms.beneath(mask) for mask in masks]
    for some in (*sorted(guards, key=len), order):
        found = _splitting(some)
        if found:
            return found[0]
    return None


def _splitting(some: Sequence[Term]) -> tuple[Term, ...]:
    """The terms of which cases can be made: indices, then steps."""
    indices = (term for term in some if term.kind is Kind.INDEX)
    return (*indices, *(term for term in some if is_step(term) and term.total))


def _values(terms: Terms, variable: Term) -> Iterator[Substituted]:
    """What stands in the place of what, case by case."""
    if variable.kind is Kind.INDEX:
        for value in range(variable.data[2]):
            yield {variable: terms.constant(value)}
        return
    pivot = _pivot(variable.args[0])
    if pivot is None:
        for value in (1, 0):
            yield {variable: terms.constant(value)}
        return
    argument, weight = variable.args[0], 1
    if argument.kind is Kind.SUM:
        weight = argument.data[1][pivot]
    rest = terms.add(argument, terms.scale(pivot, weight), -1)
    size = terms.positive(f"size of {pivot.data[0]} at {variable.uid}")
    for signed in (size, terms.zero, terms.scale(size, -1)):
        yield {pivot: terms.scale(terms.add(signed, rest, -1), Fraction(1) / weight)}


def _pivot(argument: Term) -> Term | None:
    """A variable that may be any number, and that a term is linear in."""
    parts = argument.args if argument.kind is Kind.SUM else (argument,)
    for part in parts:
        if part.kind is Kind.REAL and span_of(part) is None and part.total and not part.sign:
            others = [other for other in parts if other is not part]
            if part not in part.terms.beneath(others):
                return part
    return None


def _with(element: Element, values: Substituted) -> Element:
    """An equality with terms in the place of others. What the parallel side does not choose may stop it even so."""
    terms = element.single.terms
    single = rebuild(terms, [element.single], values)[element.single]
    terms.keeps_stops = True
    try:
        parallel = rebuild(terms, [element.parallel], values)[element.parallel]
    finally:
        terms.keeps_stops = False
    return replace(element, single=single, parallel=parallel)
