"""The ledger: where each side is defined, and whether the parallel side is so wherever the single side is.

Every reciprocal needs a non-zero argument, every logarithm and negative broken power a positive one, every
positive broken power one that is not negative. The single side is the whole of it: where one of its elements
is undefined the reference computes nothing that could be compared.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from verdict.solver.normal import NormalForms
from verdict.solver.obligation import Element
from verdict.solver.polynomial import Polynomial, combine
from verdict.solver.ring import Ring
from verdict.solver.term import Kind, Sign, Term, show


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """What one term asks of its argument: `need` is UNKNOWN for non-zero."""

    argument: Term
    need: Sign

    @property
    def evident(self) -> bool:
        """Whether it holds by the sign of the argument."""
        return self.argument.sign >= max(self.need, Sign.NONNEGATIVE) and (
            self.need is Sign.NONNEGATIVE or self.argument.sign is Sign.POSITIVE
        )

    def __str__(self) -> str:
        relation = {Sign.UNKNOWN: "!= 0", Sign.NONNEGATIVE: ">= 0", Sign.POSITIVE: "> 0"}[self.need]
        return f"{show(self.argument)} {relation}"


@dataclass(slots=True)
class Facts:
    """Polynomials of which the sign is known at every point where the single side is defined."""

    nonzero: set[Polynomial] = field(default_factory=set)
    nonnegative: set[Polynomial] = field(default_factory=set)
    positive: set[Polynomial] = field(default_factory=set)


def unmet(elements: Iterable[Element], forms: NormalForms) -> list[Condition]:
    """The conditions of the parallel side that do not evidently follow from the single side's.

    Raises LimitError where an argument has no normal form within the limits.
    """
    chosen = list(elements)
    if not chosen:
        return []
    terms = chosen[0].single.terms
    single = terms.below([element.single for element in chosen])
    known = set(single)
    parallel = [t for t in terms.below([element.parallel for element in chosen]) if t not in known]
    asked = [condition for condition in conditions(parallel) if not condition.evident]
    if not asked:
        return []
    granted = [*conditions(single), *(c for c in conditions(parallel) if c.evident)]
    forms.add(terms.below([condition.argument for condition in (*granted, *asked)]))
    facts = _facts(granted, forms)
    return [condition for condition in asked if not _follows(condition, facts, forms)]


def conditions(order: Iterable[Term]) -> list[Condition]:
    """What the terms ask of their arguments."""
    result = []
    for term in order:
        if term.kind is Kind.INVERSE:
            result.append(Condition(term.args[0], Sign.UNKNOWN))
        elif term.kind is Kind.LOG or (term.kind is Kind.POWER and term.data < 0):
            result.append(Condition(term.args[0], Sign.POSITIVE))
        elif term.kind is Kind.POWER:
            result.append(Condition(term.args[0], Sign.NONNEGATIVE))
    return result


def _facts(granted: Iterable[Condition], forms: NormalForms) -> Facts:
    facts = Facts()
    for condition in granted:
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
    ring, form = forms.ring, forms.of(condition.argument)
    if condition.need is Sign.UNKNOWN:
        return all(ring.sign(factor) is Sign.POSITIVE or factor in facts.nonzero for factor in _factors(ring, form))
    rest = ring.positive_part(form)[2]
    if ring.sign(rest) >= condition.need:
        return True
    if condition.need is Sign.NONNEGATIVE and rest in facts.nonnegative:
        return True
    return any(ring.sign(combine([(rest, 1), (fact, -1)])) for fact in facts.positive)
