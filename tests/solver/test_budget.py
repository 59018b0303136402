"""What is multiplied out, counted in products of terms: nothing where residues differ, and never more than a budget."""

from functools import reduce
from importlib import import_module
from operator import add, mul

import pytest

from tests.solver.build import array
from verdict.options import SolverOptions
from verdict.outcome import Proved, Unknown
from verdict.solver import Goal, Obligation, Terms, check
from verdict.solver.errors import BudgetError
from verdict.solver.normal import NormalForms
from verdict.solver.obligation import Element, elements
from verdict.solver.residues import Residues
from verdict.solver.ring import Ring

A_SECOND = 400_000
"""Products of terms that take about a second."""
OURS = SolverOptions(z3=False)


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def rings(monkeypatch):
    """The rings that the check makes."""
    made = []

    def ring(limit: int, part: int = 1) -> Ring:
        made.append(Ring(limit, part))
        return made[-1]

    monkeypatch.setattr(import_module("verdict.solver.check"), "Ring", ring)
    return made


def asked(terms, single, parallel) -> Obligation:
    return Obligation(terms, (Goal("y", array_of(single), array_of(parallel)),))


def array_of(term):
    result = array(term.terms, "unused", 1)
    result[0] = term
    return result


def spent(rings) -> int:
    return sum(ring.products - ring.work_left for ring in rings)


def product_of_sums(terms, count: int):
    """(a0 + b0) (a1 + b1) ..., 2 ** count terms when it is multiplied out."""
    a, b = array(terms, "a", count), array(terms, "b", count)
    return reduce(mul, a + b)


def split(terms, factor):
    """factor * x + factor * y and factor * (x + y)."""
    x, y = terms.real("x"), terms.real("y")
    return factor * x + factor * y, factor * (x + y)


def test_a_power_of_two_variables_is_multiplied_out(terms, rings):
    a, b = array(terms, "x", 2)
    one, other = split(terms, (a + b).power(40))
    outcome = check(asked(terms, one, other), OURS)
    assert isinstance(outcome, Proved)
    assert spent(rings) < A_SECOND / 10


POWERS = pytest.mark.parametrize(("count", "power"), [(3, 40), (4, 40), (8, 12), (30, 5), (2, 10**9)])


@POWERS
def test_a_power_beyond_the_budget_has_no_form_and_says_why(terms, count, power):
    one, other = split(terms, reduce(add, array(terms, "x", count)).power(power))
    forms = NormalForms(Ring(4_000))
    forms.add(terms.below([one, other]))
    assert forms.ring.work_left >= 0
    if (count, power) == (3, 40):
        assert forms.of(one) == forms.of(other)
    else:
        with pytest.raises(BudgetError, match=r"more than 4,000 terms|products of terms"):
            forms.of(one)


@POWERS
def test_what_both_sides_share_is_not_multiplied_out(terms, rings, count, power):
    one, other = split(terms, reduce(add, array(terms, "x", count)).power(power))
    assert isinstance(check(asked(terms, one, other), SolverOptions(z3=False, term_limit=4_000)), Proved)
    assert spent(rings) < 100
    assert not isinstance(check(asked(terms, one, other + terms.real("z")), OURS), Proved)


@pytest.mark.parametrize("limit", [4_000, 20_000])
@pytest.mark.parametrize("count", [10, 14, 20])
def test_a_product_of_sums(terms, rings, count, limit):
    a, b = array(terms, "a", count), array(terms, "b", count)
    pairs = (a[k] * a[k + 1] + a[k] * b[k + 1] + b[k] * a[k + 1] + b[k] * b[k + 1] for k in range(0, count, 2))
    outcome = check(
        asked(terms, product_of_sums(terms, count), reduce(mul, pairs)), SolverOptions(z3=False, term_limit=limit)
    )
    assert spent(rings) <= 1.25 * A_SECOND
    assert isinstance(outcome, Proved) or "terms" in outcome.reason
    assert isinstance(outcome, Proved) == (2**count <= limit)


def test_what_differs_by_less_than_floats_tell_is_not_multiplied_out(terms, rings):
    one, other = split(terms, product_of_sums(terms, 12))
    outcome = check(asked(terms, one, other + terms.real("x") / 10**12), OURS)
    assert isinstance(outcome, Unknown)
    assert spent(rings) == 0


class TestResidues:
    @staticmethod
    def apart(terms, one, other) -> bool:
        return bool(Residues().different(elements(asked(terms, one, other))))

    def test_equal_rational_functions_are_not_rejected(self, terms):
        x, y, z = array(terms, "x", 3)
        assert not self.apart(terms, (x + y) * (x - y), x * x - y * y)
        assert not self.apart(terms, 1 / (x + y) + 1 / z, (x + y + z) / ((x + y) * z))
        assert not self.apart(terms, (x / 3 + y).power(7) * 3, (x + 3 * y).power(7) / 3**6)

    def test_different_rational_functions_are(self, terms):
        x, y, z = array(terms, "x", 3)
        assert self.apart(terms, (x + y) * (x - y), x * x + y * y)
        assert self.apart(terms, 1 / (x + y) + 1 / z, (x + y - z) / ((x + y) * z))

    def test_the_laws_of_indicators_hold(self, terms):
        i, x = terms.index("i", 5), terms.real("x")
        ones = [i.indicator(k) for k in range(5)]
        assert not self.apart(terms, reduce(add, [x * one for one in ones]), x)
        assert not self.apart(terms, ones[1] * ones[1] * x, ones[1] * x)
        assert not self.apart(terms, i * x, reduce(add, [k * one * x for k, one in enumerate(ones)]))

    def test_what_has_no_residue_is_not_told_apart(self, terms):
        x, y = array(terms, "x", 2)
        assert not self.apart(terms, x.exp() * y.exp(), (x + y).exp())
        assert not self.apart(terms, x.exp() + 1, y.exp())
        assert not self.apart(terms, x.maximum(y) + 1, (x + 1).maximum(y + 1))
        assert not self.apart(terms, 1 / ((x + y) * (x + y) - x * x - 2 * x * y - y * y), x)

    def test_different_elements_only(self, terms):
        x, y = array(terms, "x", 2)
        same = Element("y", (0,), x * (x + y), x * x + x * y)
        other = Element("y", (1,), x * (x + y), x * x)
        assert Residues().different([same, other]) == {other}
        assert Residues().different([]) == set()
