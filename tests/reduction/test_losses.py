"""Losses that are means divide by the number of elements that there are at full shapes, in reduced plans too."""

import numpy as np
import pytest

from tests.values.outline import plans
from verdict.ops import RULES
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

LOSSES = ("mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits")
BACK = {"smooth_l1_loss": {"beta": 0.5}, "huber_loss": {"delta": 0.5}}
GIVEN = "\n  x input [4, 8000]\n  t input [4, 8000]\n"
BODY = """
  l = aten.{name}({x}, {t}) {attrs}
  s = aten.ones_like(l)
  g = aten.{name}_backward(s, {x}, {t}) reduction=1 {attrs}
"""


def pair(name, end):
    """A mean over all rows, and one of the means over the rows of each of two ranks; the gradient times a half."""
    attrs = " ".join(f"{key}={value}" for key, value in BACK.get(name, {}).items())
    single = GIVEN + BODY.format(name=name, x="x", t="t", attrs=attrs) + "  m = identity(l)\n  output m\n  output g\n"
    body = BODY.format(name=name, x="x[tp, :]", t="t[tp, :]", attrs=attrs).replace("g =", "h =").replace("l =", "p =")
    body = body.replace("ones_like(l)", "ones_like(p)")
    return plans(single, GIVEN + body + f"  a = all_reduce(p) ranks=(0, 1)\n{end}  output m\n  output g[tp, :]\n", tp=2)


HALVES = "  m = mul(a) other=0.5\n  g[tp, :] = mul(h) other={}\n"


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize(("factor", "verdict"), [(0.5, Verdict.PROVED), (1.0, Verdict.REFUTED)])
def test_means_over_many_elements_are_reduced(name, factor, verdict):
    report = verify(*pair(name, HALVES.format(factor)), Options(workers=0))
    assert report.verdict is verdict, report.open
    if verdict is Verdict.PROVED:
        assert report.swept.shapes == "two reduced shapes"


@pytest.mark.parametrize("name", LOSSES)
def test_a_count_stands_for_the_number_of_elements(name):
    rule, x = RULES[f"aten.{name}"], np.array([0.1, 0.7, 0.4])
    t = np.array([0.0, 1.0, 1.0])
    (total,), (mean,), (fewer,) = (rule.forward([x, t], attrs) for attrs in ({"reduction": 2}, {}, {"count": 12}))
    assert np.allclose([mean, fewer], [total / 3, total / 12])
