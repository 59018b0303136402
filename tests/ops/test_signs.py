"""What is known of signs, and of what may be no number, where a list of names could say too much."""

import pytest

from verdict.ops.signs import NOT_NEGATIVE, POSITIVE, divisible, may_fail, sign, strict


@pytest.mark.parametrize(
    ("op", "attrs", "read", "due"),
    [
        ("pad", {"dim": 0, "before": 1}, [POSITIVE], NOT_NEGATIVE),
        ("aten._to_copy", {"dtype": "int64"}, [POSITIVE], NOT_NEGATIVE),
        ("aten._to_copy", {"dtype": "float64"}, [POSITIVE], POSITIVE),
        ("to", {"dtype": "int64"}, [POSITIVE], NOT_NEGATIVE),
        ("to", {"dtype": "float32"}, [POSITIVE], POSITIVE),
        ("mul", {"other": 0.0}, [POSITIVE], NOT_NEGATIVE),
        ("mul", {"other": 0.5}, [POSITIVE], POSITIVE),
        ("aten.add.Tensor", {"alpha": 0}, [NOT_NEGATIVE, POSITIVE], NOT_NEGATIVE),
        ("aten.add.Tensor", {"alpha": 2}, [NOT_NEGATIVE, POSITIVE], POSITIVE),
        ("aten.new_zeros", {"size": (2,)}, [0], NOT_NEGATIVE),
        ("aten.clamp", {"min": 1}, [0], POSITIVE),
        ("aten.clamp", {"min": 0}, [0], NOT_NEGATIVE),
        ("aten.clamp", {"min": 0.0, "max": float("inf")}, [0], NOT_NEGATIVE),
        ("aten.clamp", {"min": 1, "max": -1}, [0], 0),
        ("aten.clamp", {"max": 1}, [0], 0),
        ("aten.clamp_min", {"min": 1e-6}, [0], POSITIVE),
        ("aten.clamp_min", {"min": -1}, [0], 0),
        ("aten.abs", {}, [POSITIVE], POSITIVE),
        ("aten.abs", {}, [0], NOT_NEGATIVE),
        ("aten.pow.Tensor_Scalar", {"exponent": 3}, [POSITIVE], POSITIVE),
        ("aten.pow.Tensor_Scalar", {"exponent": 3}, [0], 0),
        ("aten.pow.Scalar", {"self": 0}, [POSITIVE], NOT_NEGATIVE),
        ("aten.pow.Tensor_Tensor", {}, [POSITIVE, POSITIVE], POSITIVE),
        ("aten.clamp.Tensor", {"min": 1}, [0, 0], 0),
    ],
)
def test_signs(op, attrs, read, due):
    assert sign(op, attrs, read, range(len(read)), finite=True) == due


@pytest.mark.parametrize("op", ["aten.exp", "aten.sigmoid", "aten._softmax"])
def test_what_is_above_zero_of_finite_numbers_is_zero_of_minus_infinity(op):
    assert sign(op, {}, [0], [7], finite=True) == POSITIVE
    assert sign(op, {}, [0], [7], finite=False) == NOT_NEGATIVE


@pytest.mark.parametrize(("op", "due"), [("aten.log1p", NOT_NEGATIVE), ("aten.log", POSITIVE), ("div", POSITIVE)])
def test_what_may_be_given_where_a_pole_is(op, due):
    assert divisible(op) == due


def test_what_is_looked_up_has_the_sign_of_the_table():
    assert sign("aten.gather", {"dim": 0}, [POSITIVE, 0], [7, 8], finite=True) == POSITIVE
    assert sign("aten.gather", {"dim": 0}, [0, POSITIVE], [7, 8], finite=True) == 0


def test_what_is_put_or_chosen_has_the_signs_of_both():
    assert sign("aten.scatter_add", {"dim": 0}, [NOT_NEGATIVE, 0, POSITIVE], [7, 8, 9], finite=True) == NOT_NEGATIVE
    assert sign("aten.scatter_add", {"dim": 0}, [0, 0, POSITIVE], [7, 8, 9], finite=True) == 0
    assert sign("aten.where.self", {}, [0, POSITIVE, POSITIVE], [7, 8, 9], finite=True) == POSITIVE
    assert sign("aten.index_add", {"dim": 0, "alpha": -1}, [POSITIVE, 0, POSITIVE], [7, 8, 9], finite=True) == 0


def test_the_places_of_the_greatest_begin_with_zero():
    assert sign("aten.topk", {"k": 2}, [POSITIVE], [7], finite=True) == POSITIVE
    assert sign("aten.topk", {"k": 2}, [0], [7], finite=True, output=1) == NOT_NEGATIVE


def test_a_product_of_one_value_with_itself_is_not_negative():
    assert sign("mul", {}, [0, 0], [7, 7], finite=True) == NOT_NEGATIVE
    assert sign("mul", {}, [0, 0], [7, 8], finite=True) == 0


@pytest.mark.parametrize("op", ["hlo.subtract", "hlo.negate", "hlo.cosine"])
def test_arithmetic_of_xla_makes_numbers_of_numbers_and_none_of_none(op):
    assert not may_fail(op, {}, [0, 0])
    assert strict(op)


@pytest.mark.parametrize("op", ["hlo.convert", "hlo.topk", "hlo.sort", "aten.argmax", "aten.where.self", "aten.lt"])
def test_what_makes_a_number_of_none(op):
    assert not may_fail(op, {}, [0, 0])
    assert not strict(op)


@pytest.mark.parametrize("op", ["hlo.log", "hlo.remainder", "aten.xlogy.Tensor", "an operator that nobody knows"])
def test_whatever_is_on_no_list_may_be_no_number(op):
    assert may_fail(op, {}, [0, 0])
    assert not strict("an operator that nobody knows")


@pytest.mark.parametrize(("base", "fails"), [(10000.0, False), (0.5, False), (0.0, True), (-2.0, True), (None, True)])
def test_a_power_of_a_positive_number_is_one(base, fails):
    """As of the frequencies of rotary embeddings: behind them all of a model would be doubtful."""
    assert may_fail("aten.pow.Scalar", {"self": base}, [0]) is fails
    assert (sign("aten.pow.Scalar", {"self": base}, [0], [0], True) == POSITIVE) is not fails


@pytest.mark.parametrize("op", ["aten.pow.Tensor_Tensor", "hlo.power"])
def test_a_power_of_positive_numbers_is_one(op):
    assert not may_fail(op, {}, [POSITIVE, 0])
    assert may_fail(op, {}, [NOT_NEGATIVE, POSITIVE])


@pytest.mark.parametrize("op", ["gate", "gate.grad", "moe_gmm", "moe_gmm.grad"])
def test_experts_and_their_weights_are_numbers(op):
    assert not may_fail(op, {}, [0, 0, 0])
