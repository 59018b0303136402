"""Tables that integers name rows of shrink where all rows are alike, or all but one, and else keep their rows."""

import pytest

from tests.values.outline import plans, verdict
from verdict.concrete.comparison import prepare

PLAN = """
  w weight [7000, 300]
  x input [2000, 7000]
  t input int64 [2000]
  range t 0 6999
  {more}
  y = {made}
  output y
"""
SCORED = "y activation [2000]\n  n activation []"
FORWARD = "aten.nll_loss_forward(x, t) ignore_index={} reduction=0"
GRADIENT = 'aten.embedding_dense_backward(g, t) num_weights=7000 padding_idx={} scale_grad_by_freq=False'
GIVEN = "g input [2000, 300]\n  y activation [7000, 300]"
CASES = {
    "no class is ignored": (SCORED, FORWARD.format(-100), True),
    "the first class is ignored": (SCORED, FORWARD.format(0), True),
    "another class is ignored": (SCORED, FORWARD.format(3), True),
    "no class is ignored that there is": (SCORED, FORWARD.format(7001), True),
    "no row is padding": (GIVEN, GRADIENT.format(-1), True),
    "the first row is padding": (GIVEN, GRADIENT.format(0), True),
    "another row is padding": (GIVEN, GRADIENT.format(3), True),
    "the last row is padding": (GIVEN, GRADIENT.format(6999), True),
    "rows": ("y activation [2000, 300]", "aten.index.Tensor(w, t) indices_count=1", True),
    "columns": ("y activation [2000, 2000]", 'aten.index.Tensor(x, t) indices_count=2 absent=("indices.0",)', False),
    "rows, and one is told": (
        "m activation bool [2000]\n  y activation [2000, 300]\n  m = aten.eq.Scalar(t) other=5000",
        "aten.index.Tensor(w, t) indices_count=1",
        True,
    ),
    "rows, and the first is told": (
        "m activation bool [2000]\n  y activation [2000, 300]\n  m = aten.eq.Scalar(t) other=0",
        "aten.index.Tensor(w, t) indices_count=1",
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_shrink_where_all_but_one_are_alike(name):
    more, made, shrinks = CASES[name]
    text = PLAN.format(more=more, made=made)
    text = text.replace("y = aten.nll", "y, n = aten.nll")
    single, parallel = plans(text, text)
    small = prepare(single, parallel).small[0]
    read = "w" if "index.Tensor(w" in made else "x" if "(x, t)" in made else "y"
    shapes = zip((logical.name for logical in single.logicals), small.logicals, strict=True)
    assert (max(dict(shapes)[read]) < 300) is shrinks
    assert verdict(text, text) == "PROVED"


TOLD = """
  w weight [7000, 300]
  t input int64 [20]
  range t 0 6999
  m activation bool [20]
  few activation bool [20]
  far activation bool [20]
  z activation bool [20]
  k activation [20, 1]
  v activation [20, 1]
  r activation [20, 300]
  y activation [20, 300]
  r = aten.index.Tensor(w, t) indices_count=1
  few = aten.lt.Scalar(t) other={}
  far = aten.ne.Scalar(t) other=0
  z = aten.bitwise_and.Tensor(few, far)
  v = aten.unsqueeze(z) dim=1
  k = aten._to_copy(v) dtype="float32"
  y = mul(r, k)
  output y
"""


def test_rows_beside_the_first_are_left_wherever_rows_are_cut():
    whole = TOLD.format(1000).replace("v activation", "v activation bool")
    nothing = whole.replace("y = mul(r, k)", "y = aten.zeros_like(r)")
    other = whole.replace("other=1000", "other=2000")
    assert verdict(whole, whole) == "PROVED"
    assert verdict(whole, nothing) == "REFUTED"
    assert verdict(whole, other) == "REFUTED"


@pytest.mark.parametrize("row", [0, 3, 6998])
@pytest.mark.parametrize(("made", "more"), [(GRADIENT, GIVEN), (FORWARD, SCORED)], ids=["padding", "ignored"])
def test_the_row_beside_one_that_is_apart_is_another_one(row, made, more):
    texts = (PLAN.format(more=more, made=made.format(at)) for at in (row, row + 1))
    one, other = (text.replace("y = aten.nll", "y, n = aten.nll") for text in texts)
    assert verdict(one, one) == "PROVED"
    assert verdict(one, other) == "REFUTED"
