"""Terms in normal form. Two terms with one normal form are equal wherever both are defined."""

from collections.abc import Callable, Iterable, Sequence, Set

from verdict.solver.errors import LimitError
from verdict.solver.maxima import maximum
from verdict.solver.obligation import Element
from verdict.solver.polynomial import Polynomial, combine, constant, monomial
from verdict.solver.ring import Ring
from verdict.solver.term import Kind, Term, is_step
from verdict.solver.terms import Terms

MOST_LISTED = 64
"""Up to so many values of an index are told apart where it is used as a number."""


def shared(terms: Terms, elements: Sequence[Element]) -> frozenset[Term]:
    """The sums and maxima that occur on both sides: what is multiplied out is large because of them."""
    singles, parallels = {e.single for e in elements}, {e.parallel for e in elements}
    both = set(terms.below(singles)).intersection(terms.below(parallels))
    return frozenset(term for term in both if term.kind in {Kind.SUM, Kind.MAXIMUM})


class NormalForms:
    """Normal forms of terms, computed once each. A form that grew too large is a LimitError instead.

    whole: terms that are taken for variables, and not looked into. What is equal for all their values is equal.
    """

    def __init__(self, ring: Ring, whole: Set[Term] = frozenset()) -> None:
        self.ring, self.whole = ring, whole
        self._done: dict[Term, Polynomial | LimitError | None] = {}

    def add(self, order: Iterable[Term]) -> None:
        """Compute the forms of terms, arguments first. Raises VacuousError for what is never defined."""
        for term in order:
            if term not in self._done:
                self._done[term] = self._attempt(term)

    def of(self, term: Term) -> Polynomial:
        """The form of a term that was added. Raises LimitError where it grew too large."""
        form = self._done[term]
        if isinstance(form, LimitError):
            raise form
        if form is None:
            raise LimitError("minus infinity has no normal form")
        return form

    def _attempt(self, term: Term) -> Polynomial | LimitError | None:
        if term.kind is Kind.MINUS_INFINITY:
            return None
        if term in self.whole:
            return monomial(self.ring.atoms.whole(term.uid, term.sign).number)
        try:
            return _BY_KIND[term.kind](self, term)
        except LimitError as error:
            return error

    def _sum(self, term: Term) -> Polynomial:
        shift, weights = term.data
        parts = [(self.of(arg), weight) for arg, weight in weights.items()]
        result = combine([*parts, (constant(shift), 1)])
        self.ring.spend(0, len(result))
        return result

    def _product(self, term: Term) -> Polynomial:
        return self.ring.product([(self.of(arg), exponent) for arg, exponent in term.data.items()])

    def _index(self, term: Term) -> Polynomial:
        """The sum of its values times their indicators, where they are few."""
        name, _, size = term.data
        if size > MOST_LISTED:
            return monomial(self.ring.atoms.real(name, term.sign).number)
        return combine([(self.ring.one_hot(name, size, value), value) for value in range(1, size)])

    def _indicator(self, term: Term) -> Polynomial:
        name, _, size = term.args[0].data
        return self.ring.one_hot(name, size, term.data)

    def _opaque(self, term: Term) -> Polynomial:
        args = tuple(None if arg.kind is Kind.MINUS_INFINITY else self.of(arg) for arg in term.args)
        if is_step(term) and args[0] is not None:
            return monomial(self.ring.atoms.step(args[0]).number)
        return monomial(self.ring.atoms.opaque(term.data, args).number)

    def _undefined(self, term: Term) -> Polynomial:
        raise LimitError(f"undefined: {term.data}")

    def _args(self, term: Term) -> Sequence[Polynomial]:
        return [self.of(arg) for arg in term.args]


_BY_KIND: dict[Kind, Callable[[NormalForms, Term], Polynomial]] = {
    Kind.CONSTANT: lambda forms, term: constant(term.data),
    Kind.REAL: lambda forms, term: monomial(forms.ring.atoms.real(term.data[0], term.sign).number),
    Kind.INDEX: NormalForms._index,
    Kind.SUM: NormalForms._sum,
    Kind.PRODUCT: NormalForms._product,
    Kind.INVERSE: lambda forms, term: forms.ring.inverse(forms.of(term.args[0])),
    Kind.POWER: lambda forms, term: forms.ring.power(forms.of(term.args[0]), term.data),
    Kind.EXP: lambda forms, term: forms.ring.exp(forms.of(term.args[0])),
    Kind.LOG: lambda forms, term: forms.ring.log(forms.of(term.args[0])),
    Kind.MAXIMUM: lambda forms, term: maximum(forms.ring, forms._args(term)),
    Kind.INDICATOR: NormalForms._indicator,
    Kind.OPAQUE: NormalForms._opaque,
    Kind.UNDEFINED: NormalForms._undefined,
}
