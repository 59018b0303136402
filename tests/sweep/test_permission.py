"""Axes shrink by permission: what is made of positions, counted, compared or bounded is what it is at full shapes.

Each pair is wrong at its own shapes and would be right at shapes that are reduced carelessly.
"""

import importlib

import pytest

from tests.sweep.plans import swept, twins

OWN = importlib.import_module("verdict.sweep.own")

SQUARES = """plan single
  x input [256]
  t activation int64 [256]
  t = aten.arange() end=256
  y = aten.mul.Tensor(x, t)
  output y
plan parallel tp=2
  t activation int64 [256]
  t = aten.arange() end=256
- y = aten.mul.Tensor(x, t)
+ s activation int64 [256]
+ s = aten.mul.Tensor(t, t)
+ y = aten.mul.Tensor(x, s)
  output y
"""
SLOPES = """plan single
  x input [64, 8]
  t activation int64 [64]
  t = aten.arange() end=64
  h = aten.mul.Tensor(t) other=-0.5
  s = aten.exp(h)
  c = aten.unsqueeze(s) dim=1
  y = aten.mul.Tensor(x, c)
  output y
plan parallel tp=4
  u activation int64 [16]
  u = aten.arange.start() start=tp*16 end=tp*16+16
- g = aten.mul.Tensor(u) other=-0.5
+ q activation int64 [16]
+ q = aten.mul.Tensor(u, u)
+ g = aten.mul.Tensor(q) other=-0.5
  e = aten.exp(g)
  d = aten.unsqueeze(e) dim=1
  y[tp, :] = aten.mul.Tensor(x[tp, :], d)
  output y
"""
EXTREMES = """plan single
  x input [64, 6]
  y = aten.sum.dim_IntList(x) dim=(0,)
  output y
plan parallel tp=2
- y = aten.sum.dim_IntList(x) dim=(0,)
+ a = aten.amax(x) dim=(0,)
+ b = aten.amin(x) dim=(0,)
+ y = aten.add.Tensor(a, b)
  output y
"""
OFFSETS = """plan single
  x input [128, 4]
  t activation float32 [128]
  t = aten.arange() end=128.0 dtype="float32"
  c = aten.unsqueeze(t) dim=1
  y = aten.mul.Tensor(x, c)
  output y
plan parallel tp=4
  t activation float32 [32]
  t = aten.arange() end=32.0 dtype="float32"
- m = aten.add.Tensor(t) other=tp*32
+ m = aten.add.Tensor(t) other=tp*2
  d = aten.unsqueeze(m) dim=1
  y[tp, :] = aten.mul.Tensor(x[tp, :], d)
  output y
"""
COUNTED = """plan single
  x input [8, 128]
  ok activation bool [8, 128]
  ok = aten.gt.Scalar(x) other=0
  n activation int64 [8]
  n = aten.sum.dim_IntList(ok) dim=(1,)
  many activation bool [8]
  many = aten.ge.Scalar(n) other=40
  y = aten._to_copy(many) dtype="float32"
  output y
plan parallel tp=2
  ok activation bool [4, 128]
  ok = aten.gt.Scalar(x[tp, :]) other=0
  n activation int64 [4]
  n = aten.sum.dim_IntList(ok) dim=(1,)
  many activation bool [4]
- many = aten.ge.Scalar(n) other=40
+ many = aten.ge.Scalar(n) other=60
  y[tp] = aten._to_copy(many) dtype="float32"
  output y
"""
BOUNDED = """plan single
  x input [8, 256]
  ok activation bool [8, 256]
  ok = aten.gt.Scalar(x) other=0
  n activation int64 [8]
  n = aten.sum.dim_IntList(ok) dim=(1,)
  most activation int64 [8]
  most = aten.clamp(n) max=200
  y = aten._to_copy(most) dtype="float32"
  output y
plan parallel tp=2
  ok activation bool [4, 256]
  ok = aten.gt.Scalar(x[tp, :]) other=0
  n activation int64 [4]
  n = aten.sum.dim_IntList(ok) dim=(1,)
  most activation int64 [4]
- most = aten.clamp(n) max=200
+ most = aten.clamp(n) max=250
  y[tp] = aten._to_copy(most) dtype="float32"
  output y
"""
SCALED = """plan single
  x input [8, 200]
  ok activation bool [8, 200]
  ok = aten.gt.Scalar(x) other=0
  one = aten._to_copy(ok) dtype="float32"
  {step}
  n = aten.sum.dim_IntList(part) dim=(1,)
  y = aten.clamp(n) max=1
  output y
plan parallel tp=2
  ok activation bool [4, 200]
  ok = aten.gt.Scalar(x[tp, :]) other=0
  each = aten._to_copy(ok) dtype="float32"
  {other}
  m = aten.sum.dim_IntList(piece) dim=(1,)
- y[tp] = aten.clamp(m) max=1
+ y[tp] = aten.mul.Scalar(m) other=1.0
  output y
"""
HUNDREDTHS, TENTHS = (
    SCALED.format(step=f"part = {op}(one) other={number}", other=f"piece = {op}(each) other={number}")
    for op, number in (("aten.mul.Scalar", 0.01), ("aten.sub.Scalar", 0.9))
)
BESIDE = """plan single
  x input [8, 200]
  w weight [8]
  ok activation bool [8, 200]
  ok = aten.gt.Scalar(x) other=0
  n = aten.sum.dim_IntList(ok) dim=(1,) dtype="float32"
  g = aten.sigmoid(w)
  h = aten.add.Tensor(n, g)
  y = aten.clamp(h) max=100
  output y
plan parallel tp=2
  ok activation bool [4, 200]
  ok = aten.gt.Scalar(x[tp, :]) other=0
  m = aten.sum.dim_IntList(ok) dim=(1,) dtype="float32"
  f = aten.sigmoid(w[tp])
  k = aten.add.Tensor(m, f)
- y[tp] = aten.clamp(k) max=100
+ y[tp] = aten.mul.Scalar(k) other=1.0
  output y
"""
ONES = """plan single
  x input [8, 128]
  one = aten.ones_like(x)
  n = aten.sum.dim_IntList(one) dim=(1,)
  few activation bool [8]
  few = aten.lt.Scalar(n) other=200
  f = aten._to_copy(few) dtype="float32"
  c = aten.unsqueeze(f) dim=1
  y = aten.mul.Tensor(x, c)
  output y
plan parallel tp=2
  alone = aten.ones_like(x[tp, :])
  m = aten.sum.dim_IntList(alone) dim=(1,)
  low activation bool [4]
- low = aten.lt.Scalar(m) other=200
+ low = aten.lt.Scalar(m) other=100
  g = aten._to_copy(low) dtype="float32"
  d = aten.unsqueeze(g) dim=1
  y[tp, :] = aten.mul.Tensor(x[tp, :], d)
  output y
"""
DECLARED = """plan single
  x input [4]
  t activation int64 [256]
  t = aten.arange() end=256
  y = aten.mul.Tensor(t) other=1.0
  output y
plan parallel tp=2
  t activation int64 [256]
  t = aten.arange() end=256
- y = aten.mul.Tensor(t) other=1.0
+ s activation int64 [256]
+ s = aten.mul.Tensor(t, t)
+ y = aten.mul.Tensor(s) other=1.0
  output y
"""
ROWS_OF_MASK = """plan single
  x input [64, 4]
  o activation bool [64, 64]
  o = aten.ones() size=(64, 64) dtype="bool"
  m activation bool [64, 64]
  m = aten.tril(o) diagonal=0
  n activation int64 [64]
  n = aten.sum.dim_IntList(m) dim=(1,)
  c activation int64 [64, 1]
  c = aten.unsqueeze(n) dim=1
  y = aten.div.Tensor(x, c)
  output y
plan parallel tp=2
  t activation int64 [32]
  t = aten.arange.start() start=tp*32 end=tp*32+32
  u activation int64 [32]
- u = aten.add.Tensor(t) other=1
+ u = aten.add.Tensor(t) other=2
  c activation int64 [32, 1]
  c = aten.unsqueeze(u) dim=1
  y[tp, :] = aten.div.Tensor(x[tp, :], c)
  output y
"""
LOOKED_UP = """plan single
  w weight [64, 4]
  t activation int64 [64]
  t = aten.arange() end=64
  y = aten.index_select(w, t) dim=0
  output y
plan parallel tp=2
  t activation int64 [64]
  t = aten.arange() end=64
  r activation int64 [64]
- r = aten.add.Scalar(t) other=0
+ s activation int64 [64]
+ s = aten.mul.Tensor(t, t)
+ r = aten.remainder.Scalar(s) other=64
  y = aten.index_select(w, r) dim=0
  output y
"""
NORMALISED = """plan single
  x input [8, 64]
  w weight [64]
  m activation [8, 1]
  r activation [8, 1]
  y, m, r = aten.native_layer_norm(x, w) absent=("bias",) normalized_shape=(64,) eps=1e-05
  output y
plan parallel tp=2
  n activation [4, 1]
  e = aten.mean.dim(x[tp, :]) dim=(1,) keepdim=True
  c = aten.sub.Tensor(x[tp, :], e)
  s = aten.mul.Tensor(c, c)
  t = aten.sum.dim_IntList(s) dim=(1,) keepdim=True
- v = aten.div.Scalar(t) other=64
+ v = aten.div.Scalar(t) other=63
  a = aten.add.Scalar(v) other=1e-05
  n = aten.rsqrt(a)
  h = aten.mul.Tensor(c, n)
  y[tp, :] = aten.mul.Tensor(h, w)
  output y
"""
AVERAGE = """
  k = aten._to_copy(kept) dtype="float32"
  n = aten.sum.dim_IntList(k) dim=(0,)
  c = aten.clamp(n) min=1
  q = aten.div.Tensor(g, c)
  u = aten.unsqueeze(k) dim=1
  y = aten.mul.Tensor(q, u)
  output y
""".strip("\n")
PADDED = f"""plan single
  x input [80, 8]
  t input int64 [80]
  w weight [40, 8]
  g = aten.embedding(w, t)
  kept activation bool [80]
  kept = aten.ne.Scalar(t) other=0
{AVERAGE}
plan parallel tp=2
  g = aten.embedding(w, t)
  kept activation bool [80]
- kept = aten.ne.Scalar(t) other=0
+ kept = aten.ne.Scalar(t) other=39
{AVERAGE}
"""
AVERAGED = """plan single
  x input [80, 10]
  t input int64 [80]
  range t 0 9
  p = aten._log_softmax(x) dim=1 half_to_float=False
  y activation []
  n activation []
  y, n = aten.nll_loss_forward(p, t) ignore_index=-100 reduction=1
  output y
plan parallel tp=2
  q = aten._log_softmax(x[tp, :]) dim=1 half_to_float=False
  s activation []
  m activation []
  s, m = aten.nll_loss_forward(q, t[tp]) ignore_index=-100 reduction=2
  a = all_reduce(s) ranks=tp reduce="sum"
- y = aten.div.Scalar(a) other=80
+ y = aten.div.Scalar(a) other=79
  output y
"""
SUMMED = """plan single
  x input [80, 10]
  t input int64 [80]
  range t 0 9
  p = aten._log_softmax(x) dim=1 half_to_float=False
  s activation []
  n activation []
  s, n = aten.nll_loss_forward(p, t) ignore_index=-100 reduction=2
  y = aten.div.Scalar(s) other=80
  o = aten.ones_like(s)
  e = aten.div.Scalar(o) other=80
  d = aten.nll_loss_backward(e, p, t, n) absent=("weight",) ignore_index=-100 reduction=2
  output y
  output d
plan parallel tp=2
  q = aten._log_softmax(x[tp, :]) dim=1 half_to_float=False
  s activation []
  m activation []
  s, m = aten.nll_loss_forward(q, t[tp]) ignore_index=-100 reduction=1
- a = aten.mul.Tensor(s) other=40
+ a = aten.mul.Tensor(s) other=39
  b = aten.div.Scalar(a) other=80
  y = all_reduce(b) ranks=tp reduce="sum"
  o = aten.ones_like(s)
  e = aten.div.Scalar(o) other=2
  d[tp, :] = aten.nll_loss_backward(e, q, t[tp], m) absent=("weight",) ignore_index=-100 reduction=1
  output y
  output d
"""
MULTIPLES = """plan single
  x input [256]
  t activation int64 [256]
  t = aten.arange() end=256
  p activation bool [256]
  p = aten.lt.Scalar(t) other=64
  y = aten.mul.Tensor(x, p)
  output y
plan parallel tp=2
  t activation int64 [256]
  t = aten.arange() end=256
  p activation bool [256]
- p = aten.lt.Scalar(t) other=64
+ s activation int64 [256]
+ s = aten.add.Tensor(t, t)
+ r activation int64 [256]
+ r = aten.add.Tensor(s, t)
+ p = aten.lt.Scalar(r) other=128
  y = aten.mul.Tensor(x, p)
  output y
"""
MULTIPLES_OF_IDS = """plan single
  w input [256, 4]
  t input int64 [8]
  range t 0 255
  h = aten.embedding(w, t)
  p activation bool [8]
  p = aten.lt.Scalar(t) other=64
  c activation bool [8, 1]
  c = aten.unsqueeze(p) dim=1
  y = aten.mul.Tensor(h, c)
  output y
plan parallel tp=2
  h = aten.embedding(w, t)
  p activation bool [8]
- p = aten.lt.Scalar(t) other=64
+ s activation int64 [8]
+ s = aten.add.Tensor(t, t)
+ r activation int64 [8]
+ r = aten.add.Tensor(s, t)
+ p = aten.lt.Scalar(r) other=128
  c activation bool [8, 1]
  c = aten.unsqueeze(p) dim=1
  y = aten.mul.Tensor(h, c)
  output y
"""
THREE_IDS = """plan single
  w input [256, 4]
  a input int64 [8]
  range a 0 255
  b input int64 [8]
  range b 0 255
  c input int64 [8]
  range c 0 255
  h = aten.embedding(w, a)
  i = aten.embedding(w, b)
  j = aten.embedding(w, c)
  k = add(h, i)
  y = add(k, j)
  output y
plan parallel tp=2
  h = aten.embedding(w, a)
  i = aten.embedding(w, b)
  j = aten.embedding(w, c)
  k = add(h, i)
- y = add(k, j)
+ f = add(k, j)
{but}+ s activation bool [8]
+ s = aten.bitwise_not(r) dtype="bool"
+ t activation bool [8, 1]
+ t = aten.unsqueeze(s) dim=1
+ y = aten.mul.Tensor(f, t)
  output y
"""
CHAINED = THREE_IDS.format(
    but="""+ n activation bool [8]
+ n = aten.lt.Scalar(a) other=64
+ o activation bool [8]
+ o = aten.gt.Tensor(a, b)
+ p activation bool [8]
+ p = aten.gt.Tensor(b, c)
+ q activation bool [8]
+ q = aten.bitwise_and.Tensor(n, o)
+ r activation bool [8]
+ r = aten.bitwise_and.Tensor(q, p)
"""
)
SIXTEENTHS = """plan single
  x input [64, 64]
  t activation int64 [64]
  t = aten.arange() end=64
  i activation int64 [64, 1]
  i = aten.unsqueeze(t) dim=1
  j activation int64 [1, 64]
  j = aten.unsqueeze(t) dim=0
  a activation int64 [1, 64]
  a = aten.add.Tensor(j, j)
  b activation int64 [1, 64]
  b = aten.add.Tensor(a, a)
  c activation int64 [1, 64]
  c = aten.add.Tensor(b, b)
  d activation int64 [1, 64]
  d = aten.add.Tensor(c, c)
  p activation bool [64, 64]
  p = aten.le.Tensor(d, i)
  y = aten.mul.Tensor(x, p)
  output y
plan parallel tp=2
  t activation int64 [64]
  t = aten.arange() end=64
  i activation int64 [64, 1]
  i = aten.unsqueeze(t) dim=1
  j activation int64 [1, 64]
  j = aten.unsqueeze(t) dim=0
  a activation int64 [1, 64]
  a = aten.add.Tensor(j, j)
  b activation int64 [1, 64]
  b = aten.add.Tensor(a, a)
  c activation int64 [1, 64]
  c = aten.add.Tensor(b, b)
  d activation int64 [1, 64]
  d = aten.add.Tensor(c, c)
  p activation bool [64, 64]
- p = aten.le.Tensor(d, i)
+ e activation int64 [1, 64]
+ e = aten.sub.Tensor(d, j)
+ p = aten.le.Tensor(e, i)
  y = aten.mul.Tensor(x, p)
  output y
"""
CLAMPED = """plan single
  w weight [64, 4]
  t input int64 [2]
  range t 0 63
  y = aten.embedding(w, t)
  output y
plan parallel tp=4
  u activation int64 [2]
  u = aten.sub.Tensor(t) other=tp*16
  n activation bool [2]
  n = aten.ge.Scalar(u) other=0
  o activation bool [2]
  o = aten.lt.Scalar(u) other=16
  p activation bool [2]
  p = aten.bitwise_and.Tensor(n, o)
  c activation int64 [2]
- c = aten.clamp(u) min=0 max=15
+ c = aten.clamp(u) {ends}
  g = aten.embedding(w[tp, :], c)
  q activation bool [2, 1]
  q = aten.unsqueeze(p) dim=1
  part = aten.mul.Tensor(g, q)
  y = all_reduce(part) ranks=tp reduce="sum"
  output y
"""
INSIDE = THREE_IDS.format(
    but="""+ first activation int64 [8]
+ first = aten.clamp(b) min=64 max=127
+ last activation int64 [8]
+ last = aten.clamp(c) min=64 max=127
+ l activation bool [8]
+ l = aten.lt.Scalar(b) other=64
+ m activation bool [8]
+ m = aten.ge.Scalar(c) other=128
+ n activation bool [8]
+ n = aten.gt.Tensor(a, first)
+ o activation bool [8]
+ o = aten.gt.Tensor(last, a)
+ p activation bool [8]
+ p = aten.bitwise_and.Tensor(l, m)
+ q activation bool [8]
+ q = aten.bitwise_and.Tensor(n, o)
+ r activation bool [8]
+ r = aten.bitwise_and.Tensor(p, q)
"""
)
PAIRS = {
    "a mean by hand": AVERAGED,
    "a sum of means": SUMMED,
    "means of all features": NORMALISED,
    "rows of padding": PADDED,
    "positions squared": SQUARES,
    "slopes of squares": SLOPES,
    "extremes for a sum": EXTREMES,
    "offsets that are no cuts": OFFSETS,
    "counts compared": COUNTED,
    "counts bounded": BOUNDED,
    "truth values scaled and counted": HUNDREDTHS,
    "truth values shifted and counted": TENTHS,
    "counts beside bounded numbers": BESIDE,
    "ones counted": ONES,
    "tables declared": DECLARED,
    "rows of a mask counted": ROWS_OF_MASK,
    "positions looked up": LOOKED_UP,
    "multiples of positions": MULTIPLES,
    "multiples of ids": MULTIPLES_OF_IDS,
    "every sixteenth position": SIXTEENTHS,
    "ids in an order": CHAINED,
    "ids clamped below the last row": CLAMPED.format(ends="min=0 max=14"),
    "ids clamped above the first row": CLAMPED.format(ends="min=1 max=15"),
    "ids clamped below alone": CLAMPED.format(ends="min=0"),
    "between the first and the last row": INSIDE,
}


@pytest.mark.parametrize("name", PAIRS)
def test_at_their_own_shapes_the_pairs_are_right_and_wrong(name, monkeypatch):
    monkeypatch.setattr(OWN, "MOST_TOLD", 10**6)
    right, wrong = twins(PAIRS[name])
    assert swept(*right) == "PROVED"
    assert swept(*wrong) != "PROVED"


@pytest.mark.parametrize("name", PAIRS)
def test_so_they_are_at_reduced_shapes(name, without_numbers):
    right, wrong = twins(PAIRS[name])
    assert swept(*right) == "PROVED"
    assert swept(*wrong) != "PROVED"


@pytest.mark.parametrize("name", PAIRS)
def test_numbers_at_full_shapes_say_the_same(name, monkeypatch):
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    right, wrong = twins(PAIRS[name])
    assert swept(*right) == "PROVED"
    assert swept(*wrong) != "PROVED"
