"""The ledger: where each side is defined, and whether the parallel side is so wherever the single side is.

Every reciprocal needs a non-zero argument, every logarithm and negative broken power a positive one, every
positive broken power one that is not negative; and a variable that need not have a value, that it has one. Each
element is looked at by itself: where it is undefined on the single side, nothing is claimed of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import NamedTuple

from verdict.solver.errors import LimitError
from verdict.solver.normal import NormalForms
from verdict.solver.obligation import Element
from verdict.solver.polynomial import Polynomial, combine
from verdict.solver.ring import Ring
from verdict.solver.term import Kind, Sign, Term, show


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """What one term asks of its argument: `need` is UNKNOWN for non-zero, None for that it has a value."""

    argument: Term
    need: Sign | None

    @property
    def evident(self) -> bool:
        """Whether it holds by the sign of the argument."""
        if self.need is None:
            return False
        return self.argument.sign >= max(self.need, Sign.NONNEGATIVE) and (
            self.need is Sign.NONNEGATIVE or self.argument.sign is Sign.POSITIVE
        )

    def __str__(self) -> str:
        if self.need is None:
            return f"{show(self.argument)} to be a number"
        relation = {Sign.UNKNOWN: "!= 0", Sign.NONNEGATIVE: ">= 0", Sign.POSITIVE: "> 0"}[self.need]
        return f"{show(self.argument)} {relation}"


@dataclass(slots=True)
class Facts:
    """Polynomials of which the sign is known at every point where the single side is defined."""

    nonzero: set[Polynomial] = field(default_factory=set)
    nonnegative: set[Polynomial] = field(default_factory=set)
    positive: set[Polynomial] = field(default_factory=set)


class Unmet(NamedTuple):
    """A condition of the parallel side of an element, of which nobody says that it holds."""

    condition: Condition
    element: Element


class _Case(NamedTuple):
    element: Element
    granted: tuple[Condition, ...]
    asked: tuple[Condition, ...]


def unmet(elements: Iterable[Element], forms: NormalForms) -> list[Unmet]:
    """The conditions of the parallel side that do not evidently follow from the single side's, of the same element.

    Raises LimitError where an argument has no normal form within the limits.
    """
    chosen = [element for element in elements if not element.parallel.total and element.single is not element.parallel]
    cases = _cases(chosen)
    every = {condition for case in cases for condition in (*case.granted, *case.asked) if condition.need is not None}
    if every:
        forms.add(chosen[0].single.terms.below([condition.argument for condition in every]))
    open_ = []
    for element, granted, asked in cases:
        facts = _facts(granted, forms)
        open_ += [Unmet(condition, element) for condition in asked if not _follows(condition, facts, forms)]
    return open_


def not_zero(single: Term, arguments: Iterable[Term], forms: NormalForms) -> frozenset[Term]:
    """Those of some terms that are zero nowhere where a single side has a value, as far as its divisors say."""
    asked, terms = list(arguments), single.terms
    granted = [condition for term in terms.below([single]) if (condition := condition_of(term)) is not None]
    forms.add(terms.below([*asked, *(condition.argument for condition in granted)]))
    try:
        facts = _facts(granted, forms)
        return frozenset(term for term in asked if _follows(Condition(term, Sign.UNKNOWN), facts, forms))
    except LimitError:
        return frozenset()


def _cases(elements: Sequence[Element]) -> list[_Case]:
    """What the parallel sides need and the single sides do not, and what is granted then: what those need, and is
    evident. One element for each.
    """
    if not elements:
        return []
    listed: list[Condition] = []
    needs: dict[Term, int] = {}
    roots = [side for element in elements for side in (element.single, element.parallel)]
    order = elements[0].single.terms.below(roots)
    for term in order:
        needs[term] = reduce(or_, (needs[arg] for arg in term.args), 0)
        own = condition_of(term)
        if own is not None:
            needs[term] |= 1 << len(listed)
            listed.append(own)
    evident = sum(1 << k for k, condition in enumerate(listed) if condition.evident)
    found: dict[tuple[int, int], Element] = {}
    for element in elements:
        single, parallel = needs[element.single], needs[element.parallel]
        asked = parallel & ~(single | evident)
        if asked:
            found.setdefault((single | (parallel & evident), asked), element)

    def conditions(mask: int) -> tuple[Condition, ...]:
        return tuple(condition for k, condition in enumerate(listed) if mask >> k & 1)

    return [_Case(element, conditions(granted), conditions(asked)) for (granted, asked), element in found.items()]


def has_condition(root: Term) -> bool:
    """Whether a term, or one below it, asks something of an argument: it may have no value at any input."""
    found = map(condition_of, root.terms.below([root]))
    return any(condition is not None and condition.need is not None for condition in found)


def condition_of(term: Term) -> Condition | None:
    """What a term asks of its argument, or of itself; None where it has a value wherever its arguments have."""
    if term.kind is Kind.INVERSE:
        return Condition(term.args[0], Sign.UNKNOWN)
    if term.kind is Kind.LOG or (term.kind is Kind.POWER and term.data < 0):
        return Condition(term.args[0], Sign.POSITIVE)
    if term.kind is Kind.POWER:
        return Condition(term.args[0], Sign.NONNEGATIVE)
    return Condition(term, None) if term.kind is Kind.REAL and not term.total else None


def _facts(granted: Iterable[Condition], forms: NormalForms) -> Facts:
    facts = Facts()
    for condition in granted:
        if condition.need is None:
            continue
        form = forms.of(condition.argument)
        need = Sign.POSITIVE if condition.argument.sign is Sign.POSITIVE else condition.need
        if need is not Sign.NONNEGATIVE:
            facts.nonzero.update(_factors(forms.ring, form))
        if need is Sign.POSITIVE:
            facts.positive.add(forms.ring.positive_part(form)[2])
        if need is Sign.NONNEGATIVE:
            facts.nonnegative.add(forms.ring.positive_part(form)[2])
    return facts


def _factors(ring: Ring, form: Polynomial) -> list[Polynomial]:
    """Factors that are not zero exactly where the form is not, without those that cannot be."""
    _, common, rest = ring.split(form)
    factors = [
        ring.atoms.bases.get(atom) or Polynomial({((atom, 1),): 1})
        for atom, exponent in common
        if exponent > 0 and ring.atoms[atom].sign is not Sign.POSITIVE
    ]
    return [*factors, rest]


def _follows(condition: Condition, facts: Facts, forms: NormalForms) -> bool:
    if condition.need is None:
        return False
    ring, form = forms.ring, forms.of(condition.argument)
    if condition.need is Sign.UNKNOWN:
        return all(ring.sign(factor) is Sign.POSITIVE or factor in facts.nonzero for factor in _factors(ring, form))
    rest = ring.positive_part(form)[2]
    if ring.sign(rest) >= condition.need:
        return True
    if condition.need is Sign.NONNEGATIVE and rest in facts.nonnegative:
        return True
    return any(ring.sign(combine([(rest, 1), (fact, -1)])) for fact in facts.positive)
