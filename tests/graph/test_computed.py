"""What a float is but for rounding, where it was computed in floats."""

import math
from dataclasses import replace

import pytest

from tests.builders import mlp, with_attrs
from verdict.graph.computed import NAME, as_meant, computed_in, meant


@pytest.mark.parametrize(
    ("value", "due"),
    [
        (1 - 0.9, 0.1),
        (-(1 - 0.999), -0.001),
        (0.01 / (1 - 0.9), 0.1),
        (1 - 0.999**3, 0.002997001),
        ((1 - 0.999) ** 0.5, math.sqrt(0.001)),
        (1 / (1 - 0.999**2) ** 0.5, 1 / math.sqrt(0.001999)),
        (0.1 / (1 - 0.9**2), 10 / 19),
    ],
)
def test_a_float_that_was_computed_is_what_it_is_but_for_rounding(value, due):
    assert value != due
    assert meant(value) == due


@pytest.mark.parametrize(
    "value", [0.1, 1e-8, 0.0, -0.5, 0.001, 1 - 1e-15, 1 + 1e-15, math.pi, 1 / 3, 0.1 * (1 + 1e-11), math.inf, math.nan]
)
def test_what_was_written_so_and_what_is_no_short_decimal_stays(value):
    assert meant(value) is None


def test_a_plan_says_which_constants_it_takes_for_others():
    plan = mlp()
    first, *others = plan.segments[0].nodes
    node = with_attrs(first, scale=1 - 0.9, shift=(1 - 0.999,), sizes=(2, 3))
    given = replace(plan, segments=(plan.segments[0]._replace(nodes=(node, *others)), *plan.segments[1:]))
    assert computed_in(given) == {1 - 0.9, 1 - 0.999}
    found = as_meant(given, frozenset({1 - 0.9}))
    attrs = dict(found.segments[0].nodes[0].attrs)
    assert (attrs["scale"], attrs["shift"], attrs["sizes"]) == (0.1, (1 - 0.999,), (2, 3))
    (assumed,) = (each.text for each in found.assumptions if each.name == NAME)
    assert assumed.endswith(": 0.09999999999999998 is 0.1")
