"""A second evaluator, so that witnesses are not checked by the code that found them: mpmath at 60 digits."""

from fractions import Fraction
from functools import cache

import mpmath
import numpy as np

from verdict.outcome import Refuted
from verdict.solver import Kind, Obligation, Term
from verdict.solver.functions import KNOWN, arbitrary

_FUNCTIONS = {
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "erf": mpmath.erf,
    "step": lambda x: mpmath.mpf(x > 0),
}


def number(value):
    """An exact number at the working precision."""
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, int | Fraction) else value


def value_of(root, point):
    """The value of a term at {name: Fraction}; NaN where undefined, minus infinity where it is that."""
    if not isinstance(root, Term):
        return number(root)

    @cache
    def value(term):  # noqa: PLR0912 (one branch a kind)
        if term.kind in (Kind.REAL, Kind.INDEX):
            return number(point[term.data[0]])
        if term.kind is Kind.CONSTANT:
            return number(term.data)
        args = [value(arg) for arg in term.args]
        if term.kind is Kind.UNDEFINED or any(mpmath.isnan(arg) for arg in args):
            return mpmath.nan
        if term.kind is Kind.SUM:
            constant, weights = term.data
            return number(constant) + sum(number(w) * a for w, a in zip(weights.values(), args, strict=True))
        if term.kind is Kind.PRODUCT:
            return mpmath.fprod(a**e for e, a in zip(term.data.values(), args, strict=True))
        if term.kind is Kind.MAXIMUM:
            return max(args)
        if term.kind is Kind.MINUS_INFINITY:
            return -mpmath.inf
        if term.kind is Kind.OPAQUE:
            if term.data in KNOWN:
                return _FUNCTIONS[term.data](args[0])
            return arbitrary(term.data, [mpmath.mpf(-97) if mpmath.isinf(a) else a for a in args])
        if term.kind is Kind.EXP:
            return mpmath.exp(args[0])
        if term.kind is Kind.INDICATOR:
            return mpmath.mpf(args[0] == term.data)
        if term.kind is Kind.INVERSE:
            return 1 / args[0] if args[0] != 0 else mpmath.nan
        if term.kind is Kind.LOG:
            return mpmath.log(args[0]) if args[0] > 0 else mpmath.nan
        if args[0] < 0 or (args[0] == 0 and term.data < 0):
            return mpmath.nan
        return args[0] ** number(term.data)

    return value(root)


def assert_replays(obligation: Obligation, refuted: Refuted) -> None:
    """The witness satisfies the premises, names every variable, and shows exactly the mismatches it claims."""
    with mpmath.workdps(60):
        point = dict(refuted.witness)
        assert set(point) == set(obligation.terms.variables)
        for variable in obligation.terms.variables.values():
            value = point[variable.data[0]]
            assert variable.sign < 2 or value > 0
            assert variable.kind is not Kind.INDEX or value in range(variable.data[2])
        for left, right in obligation.premises:
            assert abs(value_of(left, point) - value_of(right, point)) < 1e-50
        goals = {goal.name: goal for goal in obligation.goals}
        assert refuted.mismatches
        for mismatch in refuted.mismatches:
            goal = goals[mismatch.goal]
            for side, claimed in ((goal.single, mismatch.single), (goal.parallel, mismatch.parallel)):
                true = value_of(np.asarray(side, dtype=object)[mismatch.index], point)
                if isinstance(claimed, Fraction):
                    assert true == number(claimed) or abs(true - number(claimed)) < 1e-50
                else:
                    np.testing.assert_allclose(float(true), claimed, rtol=1e-12)
            assert mismatch.single != mismatch.parallel or not isinstance(mismatch.single, Fraction)
