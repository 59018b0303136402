"""What an island knows of the signs of what it is given: what is positive is so, and what may be zero may."""

import pytest

from tests.builders import EXPLAINED, FAST
from tests.sampled import one_of
from tests.values.outline import plans
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.phases.between import between_cut_points
from verdict.pipeline import verify

pytestmark = pytest.mark.usefixtures("shared_proofs")

OPTIONS = Options(workers=0, solver=FAST)

CHOSEN = """
  range t 0 15
  x input [4, 16]
  t input int64 [4, 1]
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  a = aten.log(s)
  z = aten.sub.Tensor(x, a)
  p = aten.gather(z, t) dim=1
  l = aten.sum(p)
  output l"""
CHOSEN_FIRST = """
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  c = aten.view(s) size=(4,)
  b = aten.log(c)
  g = aten.gather(x, t) dim=1
  h = aten.view(g) size=(4,)
  q = aten.sub.Tensor(h, b)
  l = aten.sum(q)
  output l"""
DIVIDED = """
  x input [4, 16]
  w input [4, 1]
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  l = aten.sum(s)
  k = aten.sum(w)
  output l
  output k"""
TWICE = """
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  l = aten.sum(s)
  n = aten.div.Tensor(w, s)
  h = aten.mul.Tensor(n, s)
  k = aten.sum(h)
  output l
  output k"""


def between(single, parallel):
    """Whether a pair is proved between cut points."""
    query = Query(single, parallel, OPTIONS)
    found = between_cut_points(query, walk(query))
    return found is not None and found.report.verdict.name == "PROVED"


def test_a_logarithm_of_what_is_positive_is_a_number_in_an_island():
    """Of the elements that are not chosen, too, and nothing needs to be swept as a whole."""
    assert between(*plans(CHOSEN, CHOSEN_FIRST))
    assert not between(*plans(CHOSEN, CHOSEN_FIRST.replace("(h, b)", "(h, b) alpha=2")))


def test_what_is_divided_by_may_be_zero_where_it_may():
    assert between(*plans(DIVIDED, TWICE))
    unsigned = [text.replace("aten.exp", "aten.relu") for text in (DIVIDED, TWICE)]
    assert not between(*plans(*unsigned))
    assert verify(*plans(*unsigned), OPTIONS, causes=one_of(EXPLAINED)).verdict.name != "PROVED"
