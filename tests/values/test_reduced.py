"""Sums, losses and numbers beside integers: of which type what they make is, and where there is nothing."""

import pytest

from tests.values.outline import verdict
from verdict.errors import PlanFileError

SUMMED = """
  x input [2,3]
  w weight [1]
  {sum}
  y = mul(s, w)
  loss = sum(y) dim=None keepdim=False
  dy = sum.grad(one, y) dim=None keepdim=False
  -, gw = mul.grad(dy, s, w)
  seed one
  loss loss
  gradient gw of w
"""
PLAIN = "s = aten.sum(x)"
CUT = 's = aten.sum(x) dtype="int64"'
CUT_BEFORE = 'c = aten._to_copy(x) dtype="int64"\n  s = aten.sum(c)'
CUT_AFTER = 't = aten.sum(x)\n  s = aten._to_copy(t) dtype="int64"'


@pytest.mark.parametrize("wrong", [PLAIN, CUT_AFTER])
def test_a_sum_casts_each_element_before_it_adds(wrong):
    assert verdict(SUMMED.format(sum=CUT), SUMMED.format(sum=CUT_BEFORE)) == "PROVED"
    assert verdict(SUMMED.format(sum=CUT), SUMMED.format(sum=wrong)) != "PROVED"


def test_a_narrow_sum_wraps_around():
    whole = SUMMED.replace("x input [2,3]", "x input int8 [2,3]")
    narrow = 's = aten.sum(x) dtype="int8"'
    after = 't = aten.sum(x)\n  s = aten._to_copy(t) dtype="int8"'
    assert verdict(whole.format(sum=narrow), whole.format(sum=after)) == "PROVED"
    assert verdict(whole.format(sum=narrow), whole.format(sum=PLAIN)) != "PROVED"


LOSS = """
  x input {x}
  t input int64 {t}
  w weight [1]
  n, total = aten.nll_loss_forward(x, t) reduction=2 ignore_index={ignored}
  y = mul(n, w)
  loss = sum(y) dim=None keepdim=False
  dy = sum.grad(one, y) dim=None keepdim=False
  -, gw = mul.grad(dy, n, w)
  seed one
  loss loss
  gradient gw of w
"""


@pytest.mark.parametrize(("x", "t"), [("[4,3]", "[4]"), ("[3]", "[]")])
def test_the_ignored_class_counts(x, t):
    single = LOSS.format(x=x, t=t, ignored=-100)
    assert verdict(single, single) == "PROVED"
    assert verdict(single, LOSS.format(x=x, t=t, ignored=100)) != "PROVED"


def test_the_loss_of_nothing_is_no_error_of_ours():
    nothing = LOSS.format(x="[0,0]", t="[0]", ignored=-100)
    assert verdict(nothing, nothing) == "UNKNOWN"
    with pytest.raises(PlanFileError, match="over no targets"):
        verdict(nothing.replace("reduction=2", "reduction=1"), nothing)


FLOAT = """
  i input int64 [4]
  w weight [4]
  n = aten.add.Tensor(i) other=1
  y = mul(n, w)
  loss = sum(y) dim=None keepdim=False
  dy = sum.grad(one, y) dim=None keepdim=False
  -, gw = mul.grad(dy, n, w)
  seed one
  loss loss
  gradient gw of w
"""


def test_an_integer_and_one_may_be_a_float():
    """1.0 is written as 1."""
    assert verdict(FLOAT, FLOAT) == "PROVED"


def test_a_gradient_along_another_dimension_of_equal_size_is_refuted():
    text = """
      x input [3, 3]
      d weight [3]
      g activation [3, 3]
      g = mean.grad(d, x) dim=({dim},)
      output g
    """
    assert verdict(text.format(dim=0), text.format(dim=1)) == "REFUTED"
    assert verdict(text.format(dim=0), text.format(dim=-2)) != "REFUTED"


COUNTED = """
  x input [4000, 300]
  ok activation bool [4000, 300]
  n activation [1, {columns}]
  y activation [4000, 300]
  ok = aten.eq.Tensor(x, x)
  n = aten.sum.dim_IntList(ok) dim={dims} keepdim=True dtype="float32"
  y = {last}
  output y
"""


def test_what_differs_at_reduced_shapes_alone_refutes_nothing():
    """All elements that are counted are as many as there are, which no reduced shape has."""
    every = {"columns": 1, "dims": (0, 1)}
    counted = COUNTED.format(**every, last="aten.div.Tensor(x, n)")
    stated, wrong = (COUNTED.format(**every, last=f"aten.div.Scalar(x) other={number}") for number in (1200000, 3000))
    for single, parallel in ((counted, stated), (stated, counted)):
        assert verdict(single, parallel) == "UNKNOWN"
    assert verdict(counted, wrong) == "REFUTED"
    assert verdict(counted, counted) == "PROVED"


def test_what_is_counted_in_each_column_is_seen_in_one():
    """One column of 4000 elements is small enough for its own shapes, and stands for all of them."""
    each = {"columns": 300, "dims": (0,)}
    counted = COUNTED.format(**each, last="aten.div.Tensor(x, n)")
    stated, wrong = (COUNTED.format(**each, last=f"aten.div.Scalar(x) other={number}") for number in (4000, 3000))
    assert verdict(counted, stated) == "PROVED"
    assert verdict(counted, wrong) == "REFUTED"
