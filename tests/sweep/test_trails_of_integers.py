"""Where outputs go astray of which no correction is known: a rank's own rows are integers of nobody else's."""

from tests.values.outline import report

ONE = """
  range t 1 15
  x input [4, 16]
  t input int64 [4, 1]
  m = aten.amax(x) dim=(1,) keepdim=True
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  a = aten.log(s)
  z = aten.sub.Tensor(x, a)
  p = aten.gather(z, t) dim=1
  l = aten.sum(p)
  k = aten.sum(m)
  output l
  output k"""
OTHER = """
  u activation int64 [4, 1]
  c activation int64 [4, 1]
  m = aten.amax(x) dim=(1,) keepdim=True
  e = aten.exp(x)
  s = aten.sum.dim_IntList(e) dim=(1,) keepdim=True
  a = aten.log(s)
  y = narrow(x) dim=1 start=1 length=15
  u = aten.sub.Scalar(t) other=1
  c = aten.clamp(u) min=0
  g = aten.gather(y, c) dim=1
  {shifted}
  f = aten.sum(g)
  h = aten.sum({sub})
  l = aten.sub.Tensor(f, h)
  k = aten.sum(m)
  output l
  output k"""


def test_rows_by_other_integers_are_the_same():
    assert report(ONE, OTHER.format(shifted="", sub="a")).verdict.name == "PROVED"


def test_what_is_no_integer_is_named_before_integers():
    found = report(ONE, OTHER.format(shifted="b = aten.mul.Tensor(a, m)", sub="b"))
    assert found.verdict.name == "REFUTED"
    assert found.findings[0].where == "b on rank 0"
