"""Whole numbers that floats do not hold: int64 has more bits."""

import numpy as np
import pytest

from tests.sweep.plans import swept
from tests.values.outline import plans
from verdict.ops.whole import GREAT, computed, floats, narrowed

SINGLE = """
  n input int64 [4]
  z = aten.mul.Tensor(n) other=1
  output z
"""
THERE_AND_BACK = """
  a = aten.add.Tensor(n) other={there}
  z = aten.sub.Tensor(a) other={back}
  output z
"""


def found(there, back):
    """What is said of a plan that adds one number and takes another one away."""
    return swept(*plans(SINGLE, THERE_AND_BACK.format(there=there, back=back), dp=1))


@pytest.mark.parametrize("there", [2**53 + 1, 2**62, 2**63 - 1])
def test_what_is_added_and_taken_away_again_is_not_refuted(there):
    assert found(there, there) != "REFUTED"
    assert found(there, there - 1) == "REFUTED"


def _sums(inputs):
    return [inputs[0] + inputs[1]]


def test_great_whole_numbers_are_exact_until_they_are_small_again():
    small, great = np.array([3.0, -2.0]), np.full(2, float(2**62))
    (made,) = computed(_sums, [small, great], (TypeError,))
    assert made.tolist() == [2**62 + 3, 2**62 - 2] and made.dtype == object
    (back,) = computed(_sums, [made, -great], (TypeError,))
    assert back.tolist() == [3.0, -2.0] and back.dtype == np.float64


def test_beside_fractions_they_are_floats():
    great = narrowed(np.array([GREAT + 1]))
    (made,) = computed(_sums, [great, np.array([0.5])], (TypeError,))
    assert made.dtype == np.float64 and made.tolist() == [float(GREAT)]
    (made,) = computed(_sums, [great, np.array([np.inf])], (TypeError,))
    assert made.tolist() == [np.inf]


def test_what_makes_nothing_of_objects_is_computed_in_floats():
    def roots(inputs):
        return [np.sqrt(inputs[0])]

    (made,) = computed(roots, [narrowed(np.array([4 * GREAT * GREAT // GREAT]))], (TypeError,))
    assert made.tolist() == [np.sqrt(4.0 * GREAT)]
    assert floats(np.array([GREAT + 1], dtype=object)).dtype == np.float64
