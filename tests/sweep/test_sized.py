"""Constants that are made of sizes of axes: what they agree with at full shapes they do not agree with at others."""

import pytest

from tests.reduction.test_parts import outline
from tests.sweep.plans import OPTIONS
from tests.values.outline import plans, report
from verdict.concrete import AGREE, DIFFER
from verdict.phases import numbers
from verdict.reduction import sizes_in_constants
from verdict.report import Verdict
from verdict.sweep import sweep
from verdict.sweep.swept import TWO_SHAPES

GIVEN = ["x input [64, 4096]", "w weight [4096]", "c input [64, 1]"]
MADE = ["xw activation [64, 4096]", "d activation [64, 4096]", "s activation [64, 1]", "m activation [64, 1]"]
MADE += ["y activation [64, 1]", "yy activation [64, 1]"]
TIMES = "xw = aten.mul.Tensor(x, w)"
SUM = "s = aten.sum.dim_IntList({}) dim=(1,) keepdim=True"


def program(*steps):
    return outline(*GIVEN, *MADE, TIMES, *steps, "output yy")


def summed_first(factor=0.1 / 4096):
    """The mean of what is left of each element, times a tenth, and the same once more."""
    made = f"y = aten.mul.Tensor(s) other={factor!r}"
    return program("d = aten.sub.Tensor(c, xw)", SUM.format("d"), made, "yy = add(y, y)")


def divided_first(size=4096):
    """Twice a tenth of what the mean of all elements leaves."""
    mean = f"m = aten.div.Tensor(s) other={size}"
    return program(SUM.format("xw"), mean, "y = aten.sub.Tensor(c, m)", "yy = aten.mul.Tensor(y) other=0.2")


def test_a_size_is_found_in_what_one_plan_alone_multiplies_by():
    single, parallel = plans(summed_first(), divided_first())
    assert sizes_in_constants(single, parallel) == {0.1 / 4096: 4096, 4096: 4096}
    assert not sizes_in_constants(single, single)
    assert sizes_in_constants(*plans(summed_first(0.3), divided_first(77))) == {}


def test_constants_shrink_with_the_axes_whose_sizes_are_in_them():
    found = sweep(*plans(summed_first(), divided_first()), OPTIONS)
    assert (found.shapes, found.larger, found.is_refuted, found.open) == (TWO_SHAPES, "full shapes", False, ())
    assert found.constants == {0.1 / 4096: 4096, 4096: 4096}
    alike = sweep(*plans(summed_first(), summed_first()), OPTIONS)
    assert (alike.shapes, alike.open, alike.constants) == (TWO_SHAPES, (), {})
    for wrong in (divided_first(4095), divided_first(2048), divided_first(64)):
        assert sweep(*plans(summed_first(), wrong), OPTIONS).is_refuted
        assert report(summed_first(), wrong).verdict is Verdict.REFUTED


@pytest.mark.parametrize("most", [10_000, 3_000_000])
def test_numbers_at_shapes_without_the_sizes_in_constants_refute_nothing(most):
    """10,000 operations are too few for rows of 4,096 elements; 3,000,000 are enough for fewer of them than all 64."""
    right, wrong = (plans(summed_first(), divided_first(size)) for size in (4096, 2048))
    assert not sweep(*right, OPTIONS, most_operations=most).is_refuted
    assert sweep(*wrong, OPTIONS, most_operations=most).is_refuted == (most > 10_000)


RUNS = [(4096, 10**9, AGREE), (2048, 10**9, DIFFER), (2048, 10**4, None)]


@pytest.mark.parametrize(("size", "most", "expected"), RUNS)
def test_runs_that_refute_what_the_walk_doubts_have_the_sizes_in_constants(size, most, expected, monkeypatch):
    monkeypatch.setattr(numbers, "MOST_FULL", 100)
    pair = plans(summed_first(), divided_first(size))
    small = numbers.run_on_numbers(*pair, 100)
    assert numbers.is_reduced(small) and small.outcome == DIFFER
    monkeypatch.setattr(numbers, "MOST_WORK", most)
    monkeypatch.setattr(numbers, "FULL_WORK", 100)
    found = numbers.at_full_shapes(*pair, small)
    assert found == numbers.OF_SIZES if expected is None else found.outcome == expected
