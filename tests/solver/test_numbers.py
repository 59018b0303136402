"""Evaluation: floats, exact values and intervals agree with each other and with mpmath."""

import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tests.solver.recipes import build, recipe
from tests.solver.replay import value_of
from verdict.solver import Terms
from verdict.solver.evaluate import ExactValues, FloatValues, Special
from verdict.solver.functions import KNOWN
from verdict.solver.intervals import Intervals, UncertainError, separate

POINTS = [Fraction(n, 8) for n in (-40, -17, -3, -1, 0, 1, 2, 5, 8, 31)]
UNARY = {
    "exp": (Intervals.exp, mpmath.exp),
    "sin": (Intervals.sin, mpmath.sin),
    "cos": (Intervals.cos, mpmath.cos),
    "tanh": (Intervals.tanh, mpmath.tanh),
    "erf": (Intervals.erf, mpmath.erf),
    "step": (Intervals.step, lambda x: mpmath.mpf(x > 0)),
}


@pytest.mark.parametrize("bits", [53, 128, 512])
@pytest.mark.parametrize("name", UNARY)
def test_intervals_contain_the_true_value_and_are_narrow(name, bits):
    arithmetic = Intervals(bits)
    ours, theirs = UNARY[name]
    for value in POINTS:
        x = ours(arithmetic, arithmetic.of(value))
        with mpmath.workprec(bits * 2):
            true = theirs(mpmath.mpf(value.numerator) / value.denominator)
            assert mpmath.mpf(x.a) <= true <= mpmath.mpf(x.b)
            assert mpmath.mpf(x.delta) <= mpmath.mpf(2) ** ((50 if name == "erf" else 20) - bits)


def test_wide_intervals_contain_all_values():
    arithmetic = Intervals(128)
    wide = arithmetic.of(Fraction(1)) * arithmetic._context.mpf([-3, 2])
    for name, (ours, theirs) in UNARY.items():
        x = ours(arithmetic, wide)
        with mpmath.workdps(60):
            for value in np.linspace(-3, 2, 41):
                assert mpmath.mpf(x.a) <= theirs(mpmath.mpf(value)) <= mpmath.mpf(x.b), name


def test_erf_far_out():
    arithmetic = Intervals(128)
    for value in (7, -7, 100):
        x = arithmetic.erf(arithmetic.of(Fraction(value)))
        with mpmath.workdps(60):
            assert mpmath.mpf(x.a) <= mpmath.erf(value) <= mpmath.mpf(x.b)
        assert mpmath.mpf(x.delta) < 1e-15


def test_intervals_refuse_what_may_be_undefined():
    arithmetic = Intervals(128)
    around_zero = arithmetic._context.mpf([-1, 1])
    for function in (arithmetic.inverse, arithmetic.log):
        with pytest.raises(UncertainError):
            function(around_zero)
    with pytest.raises(UncertainError):
        arithmetic.power(around_zero, Fraction(1, 2))


def test_maximum_and_separation_of_intervals():
    arithmetic = Intervals(128)
    low, high, both = (arithmetic._context.mpf(ends) for ends in ([0, 2], [1, 3], [5, 6]))
    assert arithmetic.maximum(low, high) == arithmetic._context.mpf([1, 3])
    assert arithmetic.maximum(both, low) == both
    assert separate(low, both)
    assert not separate(low, high)


@pytest.mark.parametrize("seed", range(60))
def test_three_evaluators_agree(seed):
    rng = random.Random(seed)
    terms = Terms()
    root = build(terms, recipe(rng, 4))
    names = {"p": Fraction(3, 4), "i": Fraction(seed % 3)}
    point = {name: names.get(name, Fraction(rng.randint(-6, 6), 4)) for name in terms.variables}
    order = terms.below([root])
    exact = ExactValues(order, {terms.variables[name]: value for name, value in point.items()})
    columns = {terms.variables[name]: np.array([float(value)]) for name, value in point.items()}
    with mpmath.workdps(60):
        true = value_of(root, point)
        if not abs(true) < 1e200:
            return
        interval = exact.intervals(128)[root]
        assert interval is not None
        slack = mpmath.mpf(10) ** -50 * (1 + abs(true))
        assert mpmath.mpf(interval.a) - slack <= true <= mpmath.mpf(interval.b) + slack
        if isinstance(exact.exact[root], Fraction):
            value = exact.exact[root]
            assert abs(true - mpmath.mpf(value.numerator) / value.denominator) <= slack
        np.testing.assert_allclose(FloatValues(order, columns).of([root])[0, 0], float(true), rtol=1e-6)


def test_undefined_never_hides():
    terms = Terms()
    x = terms.real("x")
    hidden = [1 / (1 / x), (-(1 / (x * x))).exp(), x.log().exp(), 0 * (1 / x), (1 / x).maximum(3)]
    order = terms.below(hidden)
    exact = ExactValues(order, {x: Fraction(0)})
    assert all(exact.exact[term] is Special.UNDEFINED for term in hidden)
    assert all(exact.intervals(128)[term] is None for term in hidden)
    assert np.isnan(FloatValues(order, {x: np.zeros(1)}).of(hidden)).all()


@pytest.mark.parametrize("name", KNOWN)
def test_known_functions_agree_on_floats_and_exact_values(name):
    function = KNOWN[name]
    floats = function.floats(np.array([float(value) for value in POINTS]))
    for value, found in zip(POINTS, floats, strict=True):
        exact = function.exact(value)
        if exact is not None:
            assert found == exact
