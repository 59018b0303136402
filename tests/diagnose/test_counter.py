"""A counterexample shows a difference, or there is none to show, or it is a bug of ours."""

from fractions import Fraction

import numpy as np
import pytest

from verdict.diagnose.counter import NotShown, Pair, counterexample
from verdict.outcome import Applied
from verdict.solver import InternalError

ONE = np.array([Fraction(1)], dtype=object)
X = (Applied("", ((0, ()),)),)
TWICE = (Applied("", ((0, ()),), factor=Fraction(2)),)
EXP = (Applied("aten.exp", ((0, ()),)),)


def test_what_differs_is_shown():
    found = counterexample(["x"], [ONE], [Pair("y", X, "rank 0", TWICE)], "")
    assert (found.single[0].values, found.parallel[0].values) == ((1,), (2,))
    assert found.parallel[0].wrong == (True,)


def test_what_is_rounded_and_does_not_differ_is_not_shown():
    with pytest.raises(NotShown):
        counterexample(["x"], [ONE], [Pair("y", EXP, "rank 0", EXP)], "")


def test_exact_numbers_that_do_not_differ_are_a_bug():
    with pytest.raises(InternalError, match="does not replay"):
        counterexample(["x"], [ONE], [Pair("y", X, "rank 0", X)], "")
