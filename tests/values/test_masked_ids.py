"""Ids that are looked up as another one where they are no row: these may be given, and no other such."""

import pytest

from tests.values.outline import plans, verdict
from verdict.inputs import domains
from verdict.semantics import full

LOOKED_UP = """
  t input int64 [4]
  a activation bool [4]
  no activation bool [4]
  n activation int64 [4]
  c activation int64 [4]
  e weight [6, 3]
  a = aten.{test}.Scalar(t) other=-100
  no = aten.bitwise_not(a) dtype="bool"
  n = aten.zeros_like(t)
  c = {put}
  y = aten.embedding(e, c)
  output y
"""
PUTS = {
    "filled": ("eq", "aten.masked_fill.Scalar(t, a) value={put}"),
    "filled where it is another": ("ne", "aten.masked_fill.Scalar(t, no) value={put}"),
    "chosen": ("ne", "aten.where.ScalarOther(a, t) other={put}"),
    "chosen of zeros": ("eq", "aten.where.self(a, n, t)"),
    "kept of zeros": ("ne", "aten.where.self(a, t, n)"),
}


def looked_up(name, put=0):
    test, how = PUTS[name]
    return LOOKED_UP.format(test=test, put=how.format(put=put))


def beside(text):
    """The integers beside the rows of the table, and the rows."""
    single, _ = plans(text, text)
    (domain,) = domains(single, full(single)).values()
    (kind,), (usual,) = domain.kinds, domain.usual
    return kind.beside, (usual.low, usual.high)


@pytest.mark.parametrize("name", PUTS)
def test_an_id_in_whose_place_a_row_is_put_may_be_given(name):
    assert beside(looked_up(name)) == ((-100,), (0, 5))


@pytest.mark.parametrize("name", ["filled", "chosen"])
def test_one_in_whose_place_no_row_is_put_may_not(name):
    assert beside(looked_up(name, put=7)) == ((), (0, 5))


STATED = [("  range t -100 5", "REFUTED"), ("", "UNKNOWN"), ("  range t 0 5", "PROVED")]


@pytest.mark.parametrize(("stated", "expected"), STATED)
def test_what_only_such_ids_show_refutes_where_they_are_stated(stated, expected):
    right, other = (stated + looked_up("filled", put) for put in (0, 1))
    assert verdict(right, right) == "PROVED"
    assert verdict(right, other) == expected
