"""What is zero but for rounding, and all that is declared: a multiple of it is not refuted by its noise."""

import pytest

from tests.sweep.plans import agrees, swept
from tests.values.outline import plans
from verdict.comparison import AGREE, DIFFER

SINGLE = """
  x input [4, 3]
  w weight [2, 3]
  h = linear(x, w)
  p = softmax(h) dim=-1
  q = log(p)
  r = log_softmax(h) dim=-1
  d = sub(q, r)
  s = sum({what})
  loss = mul(s) other={factor}
  loss loss
"""


@pytest.mark.parametrize(
    ("what", "outcome", "verdicts"), [("d", AGREE, {"PROVED", "UNKNOWN"}), ("r", DIFFER, {"REFUTED"})]
)
def test_noise_refutes_nothing(what, outcome, verdicts):
    """A divergence of a distribution from itself is noise; the logarithms alone are numbers."""
    pair = plans(SINGLE.format(what=what, factor=2), SINGLE.format(what=what, factor=6))
    assert agrees(*pair) == outcome
    assert swept(*pair) in verdicts
