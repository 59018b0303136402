"""Masks of -1e30 that depend on no data are minus infinity, under an assumption; other ones are what they are."""

import pytest

from tests.builders import ask
from tests.values.outline import plans, verdict
from verdict.options import Options
from verdict.phases.by_masks import MASKS, masked_by_infinity
from verdict.pipeline import verify

GIVEN = """
  x input [4, 4]
  i activation int64 [4]
  r activation int64 [4, 1]
  m activation bool [4, 4]
  n activation bool [4, 4]
  i = aten.arange() end=4 dtype="int64"
  r = aten.view(i) size=(4, 1)
  m = aten.{than}.Tensor(i, r)
  n = aten.bitwise_not(m) dtype="bool"
"""
SHARES = "  s = aten.masked_fill.Scalar(x, m) value={}\n  y = aten._softmax(s) dim=1 half_to_float=False\n"
RUNNING = """
  b = aten.full() size=(4, 1) fill_value={mask} dtype="float32"
  s = aten.masked_fill.Scalar(x, m) value={mask}
  h = aten.amax(s) dim=(1,) keepdim=True
  a = aten.maximum(b, h)
  f = aten.sub.Tensor(b, a)
  c = aten.exp(f)
  d = aten.sub.Tensor(s, a)
  e = aten.exp(d)
  p = aten.masked_fill.Scalar(e, m) value=0.0
  t = aten.sum.dim_IntList(p) dim=(1,) keepdim=True
  u = aten.add.Tensor(c, t)
  y = aten.div.Tensor(p, {by})
"""
ENDS = "  l = aten.sum(y)\n  output y\n  output l\n"


def single(mask="-1e30", than="gt"):
    return GIVEN.format(than=than) + SHARES.format(mask) + ENDS


def parallel(mask="-1e30", than="gt", by="u"):
    return GIVEN.format(than=than) + RUNNING.format(mask=mask, by=by) + ENDS


@pytest.mark.parametrize("masks", [("-1e30", "-1e30"), ("-inf", "-1e30"), ("-1e9", "-3.4028234663852886e38")])
def test_a_running_softmax_that_begins_at_a_great_number_is_one(masks):
    report = ask(*plans(single(masks[0]), parallel(masks[1])))
    assert report.verdict.name == "PROVED"
    assert MASKS in report.assumptions


def test_it_is_no_proof_where_that_is_denied():
    report = verify(*plans(single(), parallel()), Options(workers=0, denied=frozenset({MASKS.name})))
    assert report.verdict.name == "UNKNOWN"


@pytest.mark.parametrize("wrong", [parallel(than="ge"), parallel(by="h"), parallel(mask="-10.0")])
def test_other_softmaxes_are_refuted(wrong):
    assert verdict(single(), wrong) == "REFUTED"


def test_a_row_that_is_masked_as_a_whole_has_equal_shares_and_no_zeros():
    """A softmax of -1e30 everywhere is a number, and one of minus infinity is none: nothing is taken for the other."""
    assert verdict(single(than="ge"), parallel(than="ge")) == "REFUTED"
    assert verdict(single("-inf", than="ge"), parallel(than="ge")) != "PROVED"


BY_DATA = """
  x input [4, 4]
  z input [4, 4]
  m activation bool [4, 4]
  m = aten.gt.Scalar(z) other=0.0
"""
COMPARED = """
  k activation bool [4, 4]
  s = aten.masked_fill.Scalar(x, m) value=-1e30
  k = aten.lt.Scalar(s) other=-10.0
  q = aten._softmax(s) dim=1 half_to_float=False
  y = aten.masked_fill.Scalar(q, k) value=0.0
"""


def test_a_mask_that_data_make_is_not_taken_for_one():
    pair = plans(BY_DATA + SHARES.format("-1e30") + ENDS, BY_DATA + SHARES.format("-inf") + ENDS)
    assert masked_by_infinity(pair[0]) is None
    assert ask(*pair).verdict.name != "PROVED"


LOOKED_UP = """
  range k 0 3
  k input int64 [4]
  b activation [4, 4]
  c activation [4, 4]
  s activation [4, 4]
  z = aten.zeros() size=(4, 4) dtype="float32"
  b = aten.masked_fill.Scalar(z, m) value=-1e30
  c = aten.index_select(b, k) dim=0
  s = aten.add.Tensor(x, c)
  y = aten._softmax(s) dim=1 half_to_float=False
"""


def test_nor_is_one_that_integers_choose():
    outline = GIVEN.format(than="gt") + LOOKED_UP + ENDS
    assert masked_by_infinity(plans(outline, outline)[0]) is None
    without = outline.replace("index_select(b, k) dim=0", "neg(b)").replace("  range k 0 3\n  k input int64 [4]\n", "")
    assert masked_by_infinity(plans(without, without)[0]) is not None


def test_nor_is_one_that_something_is_compared_with():
    outline = GIVEN.format(than="gt") + COMPARED + ENDS
    assert masked_by_infinity(plans(outline, outline)[0]) is None


def test_what_is_no_mask_stays():
    plan = plans(single("-1e4"), single("-1e4"))[0]
    assert masked_by_infinity(plan) is plan
