"""A dimension of one element that a node has and its partner has not is no wrong shape."""

import pytest

from tests.values.outline import plans, report
from verdict.options import Options
from verdict.phases import Query, walk

ONE = """
  b input [1, 4, 1, 8]
  x input [2, 4, 3, 8]
  c = hlo.reshape(b) size=(4, 8)
  d = hlo.reshape(c) size=(1, 4, 1, 8)
  y = aten.mul.Tensor(x, d)
  l = aten.sum(y)
  output l"""
OTHER = """
  e activation [4, 1, 8]
  e = hlo.reshape(b) size=(4, 1, 8)
  d = hlo.reshape(e) size=(1, 4, 1, 8)
  y = aten.mul.Tensor(x, d)
  z = aten.mul.Scalar(y) other={times}
  l = aten.sum(z)
  output l"""


def test_it_is_proved():
    assert report(ONE, OTHER.format(times=1)).verdict.name == "PROVED"


@pytest.mark.parametrize("times", [1, 2])
def test_the_walk_follows_it_no_further_and_finds_no_fault_there(times):
    found = walk(Query(*plans(ONE, OTHER.format(times=times)), Options(workers=0))).report
    assert found.verdict.name == "UNKNOWN"
    assert any("dimensions of one element" in question.reason for question in found.open)


def test_what_is_wrong_elsewhere_is_named():
    found = report(ONE, OTHER.format(times=2))
    assert found.verdict.name == "REFUTED"
    assert {finding.code for finding in found.findings} == {"wrong-scale"}
