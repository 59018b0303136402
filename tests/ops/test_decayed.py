"""1 - b**t is positive where t is, and the greatest of minus infinity and a number is the number."""

import pytest

from verdict.ops import FACTS
from verdict.ops.decayed import Made, is_left
from verdict.ops.signs import NOT_NEGATIVE, POSITIVE

WHOLE, POWER, BASE, EXPONENT, COUNT = range(5)


def constant(*values):
    return Made("hlo.constant", {"values": values}, ())


@pytest.mark.parametrize(
    ("whole", "base", "dtype", "count", "due"),
    [
        (1, 0.9, "float32", POSITIVE, True),
        (2.0, 0.999, "float32", POSITIVE, True),
        (1, 0.9, "float32", NOT_NEGATIVE, False),
        (0.5, 0.9, "float32", POSITIVE, False),
        (1, 1.0, "float32", POSITIVE, False),
        (1, 0.0, "float32", POSITIVE, False),
        (1, 0.9, "int32", POSITIVE, False),
    ],
)
def test_what_is_left_of_one(whole, base, dtype, count, due):
    makers = {
        WHOLE: constant(whole),
        POWER: Made("hlo.power", {}, (BASE, EXPONENT)),
        BASE: constant(base, base),
        EXPONENT: Made("hlo.convert", {"dtype": dtype}, (COUNT,)),
    }
    assert is_left(Made("hlo.subtract", {}, (WHOLE, POWER)), makers, {COUNT: count}) == due
    assert not is_left(Made("hlo.subtract", {}, (POWER, WHOLE)), makers, {COUNT: count})
    assert not is_left(Made("hlo.add", {}, (WHOLE, POWER)), makers, {COUNT: count})


@pytest.mark.parametrize("op", ["hlo.maximum", "aten.maximum"])
def test_the_greatest_of_minus_infinity_and_a_number_is_a_number(op):
    assert FACTS.finite(op, {1}, 0, rises=False)
    assert not FACTS.finite(op, {1}, 0, rises=True)
    assert not FACTS.finite(op, {0, 1}, 0, rises=False)
    assert not FACTS.finite(op.replace("maximum", "minimum"), {1}, 0, rises=False)
