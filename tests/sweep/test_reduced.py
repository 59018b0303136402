"""Recorded operators at reduced shapes: each verdict is that at the plans' own shapes, for right and wrong plans."""

import importlib
from dataclasses import replace

import pytest

from tests.sweep.plans import OPTIONS, swept, twins
from verdict.backends.generator import Sizes, generate
from verdict.comparison import Fault, Faulty
from verdict.reduction import shrink
from verdict.semantics import bind
from verdict.sweep import Swept, sweep

OWN = importlib.import_module("verdict.sweep.own")
OWN_SHAPES = "the plans' own shapes"
SMALL = {"layers": 1, "hidden": 8, "heads": 2, "seq": 4, "batch": 4, "vocab": 8, "ffn": 8}
VOCABULARY = """plan single
  ids input int64 [6]
  w weight [48, 24]
  y = aten.embedding(w, ids)
  output y
plan parallel tp=2
  low activation bool [6]
  high activation bool [6]
  foreign activation bool [6]
  moved activation int64 [6]
  own activation int64 [6]
  low = aten.lt.Scalar(ids) other=tp*24
  high = aten.ge.Scalar(ids) other=tp*24+24
  foreign = aten.bitwise_or.Tensor(low, high)
  moved = aten.sub.Tensor(ids) other=tp*24
  own = aten.masked_fill.Scalar(moved, foreign) value=0
  rows = aten.embedding(w[tp, :], own)
  wide = aten.unsqueeze(foreign) dim=1
- part = aten.masked_fill.Scalar(rows, wide) value=0
+ part = aten.masked_fill.Scalar(rows, wide) value=1
  y = all_reduce(part) ranks=tp reduce="sum"
  output y
"""
POSITIONS = """plan single
  x input [64, 24]
  t activation int64 [64]
  t = aten.arange() end=64
  p activation int64 [64, 1]
  p = aten.view(t) size=(64, 1)
  a = aten.mul.Tensor(p) other=0.1
  c = aten.cos(a)
  y = aten.mul.Tensor(x, c)
  output y
plan parallel tp=2
  mine activation int64 [32]
- mine = aten.arange.start() start=tp*32 end=tp*32+32
+ mine = aten.arange.start() start=0 end=32
  column activation int64 [32, 1]
  column = aten.view(mine) size=(32, 1)
  angle = aten.mul.Tensor(column) other=0.1
  turn = aten.cos(angle)
  y[tp, :] = aten.mul.Tensor(x[tp, :], turn)
  output y
"""
HALVES = """plan single
  x input [24, 64]
  a = aten.slice.Tensor(x) dim=1 start=0 end=32
  b = aten.slice.Tensor(x) dim=1 start=32 end=64
  n = aten.neg(b)
  y = aten.cat(n, a) dim=1 tensors_count=2
  output y
plan parallel tp=2
- first = aten.slice.Tensor(x[tp, :]) dim=1 start=0 end=32
- second = aten.slice.Tensor(x) dim=1 start=32 end=64
+ pairs = aten.view(x[tp, :]) size=(12, 32, 2)
+ first = aten.select.int(pairs) dim=2 index=0
+ second = aten.select.int(pairs) dim=2 index=1
  negative = aten.neg(second)
  y[tp, :] = aten.cat(negative, first) dim=1 tensors_count=2
  output y
"""
MEAN = """plan single
  x input [24, 64]
  m = aten.mean.dim(x) dim=(-1,) keepdim=True
  y = aten.sub.Tensor(x, m)
  output y
plan parallel tp=2
  s activation [24, 1]
  s{tp} = aten.sum.dim_IntList(x[:, tp]) dim=(1,) keepdim=True
  t = all_reduce(s) ranks=tp reduce="sum"
- m = aten.div.Tensor(t) other=64
+ m = aten.div.Tensor(t) other=32
  y[:, tp] = aten.sub.Tensor(x, m)
  output y
"""
WINDOW = """plan single
  x input [64, 24]
  t = aten.arange() end=64
  h = aten.mul.Tensor(t) other=0.5
  near activation bool [64]
  near = aten.lt.Scalar(h) other=8.0
  wide activation bool [64, 1]
  wide = aten.unsqueeze(near) dim=1
  y = aten.masked_fill.Scalar(x, wide) value=0
  output y
plan parallel tp=2
  mine = aten.arange.start() start=tp*32 end=tp*32+32
  half = aten.mul.Tensor(mine) other=0.5
  close activation bool [32]
- close = aten.lt.Scalar(half) other=8.0
+ close = aten.lt.Scalar(half) other=9.0
  column activation bool [32, 1]
  column = aten.unsqueeze(close) dim=1
  y[tp, :] = aten.masked_fill.Scalar(x[tp, :], column) value=0
  output y
"""
GREATEST = """plan single
  x input [24, 64]
  m activation [24, 1]
  m, - = aten.max.dim(x) dim=1 keepdim=True
  y = aten.sub.Tensor(x, m)
  output y
plan parallel tp=2
  s activation [24, 1]
  s{tp}, - = aten.max.dim(x[:, tp]) dim=-1 keepdim=True
- m = all_reduce(s) ranks=tp reduce="max"
+ m = all_reduce(s) ranks=tp reduce="min"
  y[:, tp] = aten.sub.Tensor(x[:, tp], m)
  output y
"""
SMALLER = {
    "vocabulary": (VOCABULARY, "w"),
    "positions": (POSITIONS, "x"),
    "halves": (HALVES, "x"),
    "mean": (MEAN, "x"),
    "greatest": (GREATEST, "x"),
}
PLACED = """plan single
  x input [4, 64]
  m activation [4, 1]
  at activation int64 [4, 1]
  m, at = aten.max.dim(x) dim=1 keepdim=True
  y = aten.gather(x, at) dim=1
  output y
plan parallel tp=2
- m[tp, :], at[tp, :] = aten.max.dim(x[tp, :]) dim=1 keepdim=True
+ m[tp, :], at[tp, :] = aten.min.dim(x[tp, :]) dim=1 keepdim=True
  y[tp, :] = aten.gather(x[tp, :], at[tp, :]) dim=1
  output y
"""
def reduced(single, parallel):
    """The reduced shapes of the single-device tensors, by name."""
    small, _ = shrink(single, parallel, bind(single, parallel)).small
    return {logical.name: shape for logical, shape in zip(single.logicals, small.logicals, strict=False)}


@pytest.mark.parametrize("name", SMALLER)
def test_reduced_shapes_give_the_verdict_of_the_full_ones(name, monkeypatch):
    text, tensor = SMALLER[name]
    right, wrong = twins(text)
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")
    full = next(logical.shape for logical in right[0].logicals if logical.name == tensor)
    assert all(small <= size / 4 for small, size in zip(reduced(*right)[tensor], full, strict=True))
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


def test_the_axis_along_which_a_place_is_told_keeps_its_size():
    right, wrong = twins(PLACED)
    assert reduced(*right)["x"][1] == 64
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


def left_open(*_):
    return Swept(open=(("y", "it is left open"),))


def ill_fitting(*_):
    raise Faulty(Fault("it does not fit", "y"))


@pytest.mark.parametrize("instead", [None, left_open, ill_fitting])
def test_what_is_long_is_compared_at_own_shapes_where_reduced_ones_leave_it_open(instead, monkeypatch):
    right, wrong = twins(MEAN)
    assert sweep(*right, OPTIONS).shapes == OWN_SHAPES
    monkeypatch.setattr(OWN, "MOST_SHORT", 0)
    if instead is not None:
        monkeypatch.setattr(importlib.import_module("verdict.sweep.sweep"), "_at_two_shapes", instead)
    found = sweep(*right, OPTIONS)
    assert (found.shapes == OWN_SHAPES, found.open, found.fault) == (instead is not None, (), None)
    assert sweep(*right, replace(OPTIONS, exhaustive=True)).shapes == OWN_SHAPES
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


def test_halves_and_pairs_stay_apart():
    assert reduced(*twins(HALVES)[0])["x"][1] >= 4


def test_an_axis_keeps_its_size_where_a_number_is_compared_with_its_positions(monkeypatch):
    right, wrong = twins(WINDOW)
    assert reduced(*right)["x"][0] == 64
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    assert (swept(*right), swept(*wrong)) == ("PROVED", "REFUTED")


def test_a_boundary_of_the_vocabulary_that_no_rank_has_is_seen_at_reduced_shapes(monkeypatch):
    masked = "part = aten.masked_fill.Scalar(rows, wide) value="
    low = "  low = aten.lt.Scalar(ids) other=tp*24\n"
    moved = VOCABULARY.replace(f"- {masked}0", f"  {masked}0").replace(f"+ {masked}1\n", "")
    moved = moved.replace(low, f"-{low[1:]}+{low[1:].replace('24', '12')}")
    right, wrong = twins(moved)
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    assert swept(*right) == "PROVED"
    assert swept(*wrong) != "PROVED"


def test_what_makes_too_many_elements_is_not_swept(monkeypatch):
    engine = importlib.import_module("verdict.sweep.sweep")
    right, _ = twins(POSITIONS)
    monkeypatch.setattr(engine, "MOST_MADE", 10)
    found = engine.sweep(*right, OPTIONS)
    assert found.fault is not None and found.fault.ours
    assert "elements, the limit is 10" in found.fault.what
    assert swept(*right) == "UNKNOWN"


def test_what_is_not_declared_is_missing_at_all_shapes(monkeypatch):
    """One of two ranks that hold a weight whole says no gradient of it: no number shows that, at whatever shapes."""
    monkeypatch.setattr(OWN, "MOST_FULL", 0)
    single, parallel = generate("mlp", Sizes(**SMALL, dp=2, tp=1, pp=1, microbatches=1, list_ranks=True))
    lacking = replace(parallel, gradients=parallel.gradients[1:])
    right, wrong = (sweep(single, plan, OPTIONS) for plan in (parallel, lacking))
    assert not (right.missing or right.open)
    assert [each.what for each in wrong.missing] == ["gradient of layers.0.weight on device 0"]
    assert right.larger == wrong.larger == "full shapes"
