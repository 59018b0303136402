"""Numbers that attributes name occur among what plans are given: a changed one is seen, a right one agrees."""

import numpy as np
import pytest
import torch

from tests.builders import EXPLAINED
from tests.sampled import one_of
from verdict.backends.text import read
from verdict.backends.torch.oracle.compare import compare, ready, values_of
from verdict.backends.torch.oracle.own import own as made
from verdict.comparison import AGREE, DIFFER
from verdict.concrete import compare as own
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

PLAN = """verdict-plan 1
devices 1
tensors
  x input {kind} [{rows}, 8] origin name
  y activation {made} [{rows}, 8]
  w input float32 [{rows}, 8] origin name
  c activation float32 [{rows}, 8]
  m activation float32 [{rows}, 8]
  loss activation float32 []
family 0
segment step
  y = {op}(x) {attrs}
  c = aten._to_copy(y) dtype="float32"
  m = aten.mul.Tensor(c, w)
  loss = aten.sum(m)
call step 0
loss loss
end
"""
CHANGES = (
    ("aten.clamp", "float32", "float32", "min=-1 max=1.5", "min=-8 max=1.5"),
    ("aten.eq.Scalar", "float32", "bool", "other=0.5", "other=0.25"),
    ("aten.ge.Scalar", "float32", "bool", "other=7.0", "other=7.5"),
    ("aten.eq.Scalar", "int64", "bool", "other=1", "other=-6"),
    ("aten.eq.Scalar", "int64", "bool", "other=41", "other=47"),
)


def plan(op, kind, made, attrs, rows=4):
    return read(PLAN.format(op=op, kind=kind, made=made, attrs=attrs, rows=rows).encode(), "plan")


@pytest.mark.parametrize(("op", "kind", "made", "attrs", "changed"), CHANGES)
def test_a_changed_bound_is_seen_by_both_engines_and_the_right_one_agrees(op, kind, made, attrs, changed):
    single, right, wrong = (plan(op, kind, made, each) for each in (attrs, attrs, changed))
    for engine in (compare, own):
        assert {engine(single, right, seed).outcome for seed in (1, 2)} == {AGREE}
        assert DIFFER in {engine(single, wrong, seed).outcome for seed in (1, 2)}


@pytest.mark.parametrize("rows", [4, 8_000])
def test_a_bound_beyond_what_is_usually_drawn_is_refuted_and_its_twin_proved(rows):
    single, right, wrong = (plan("aten.clamp", "float32", "float32", f"min={k} max=1.5", rows) for k in (-1, -1, -8))
    assert verify(single, right, Options(workers=0)).verdict is Verdict.PROVED
    assert verify(single, wrong, Options(workers=0), causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED


def test_odd_seeds_hold_usual_numbers_alone():
    single, wrong = (plan("aten.clamp", "float32", "float32", f"min={k} max=1.5") for k in (-1, -8))
    plans = ready(single, wrong)
    usual, mixed = (values_of(plans, seed)[0].numpy() for seed in (1, 2))
    assert np.abs(usual).max() <= 1
    assert mixed.min() < -7


def keyed(p, offset):
    """Keyed dropout of something that lies behind the beginning of the whole tensor."""
    return read(
        f"""verdict-plan 1
devices 1
tensors
  x input float32 [200] origin name
  w input float32 [200] origin name
  y activation float32 [200]
  m activation float32 [200]
  loss activation float32 [1]
family 0
segment step
  y = keyed_dropout(x) p={p} key=2 offset=({offset},)
  m = mul(y, w)
  loss = sum(m) dim=None keepdim=False
call step 0
loss loss
end
""".encode(),
        "plan",
    )


@pytest.mark.parametrize(("p", "offset"), [(0.5, 300), (0.25, 301), (0.25, 7)])
def test_keyed_dropout_behind_the_beginning_of_the_whole(p, offset):
    single = keyed(0.25, 300)
    assert verify(single, keyed(0.25, 300), Options(workers=0)).verdict is Verdict.PROVED
    assert verify(single, keyed(p, offset), Options(workers=0), causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED


def test_what_is_reduced_over_everything_is_of_shape_1_and_feedforward_needs_its_dropout():
    x = torch.ones(3, dtype=torch.float64)
    assert made("logsumexp", [x], {"dim": -1}).shape == made("mean", [x], {}).shape == (1,)
    assert made("mean", [x], {"dim": (0,), "keepdim": True}).shape == (1,)
    w = torch.ones(3, 3, dtype=torch.float64)
    assert made("feedforward", [x, w, x, w], {"dropout": 0.25, "is_training": False}).shape == (3,)
    with pytest.raises(KeyError):
        made("feedforward", [x, w, x, w], {"is_training": False})


@pytest.mark.parametrize(
    ("ignored", "verdict"), [(-100, Verdict.PROVED), (-101, Verdict.REFUTED), (1, Verdict.REFUTED)]
)
def test_targets_that_one_plan_alone_ignores_are_refuted_where_the_plan_says_that_they_occur(ignored, verdict):
    text = """verdict-plan 1
devices 1
range t -101 3
tensors
  x input float32 [6, 3] origin name
  t input int64 [6] origin name
  loss activation float32 []
  total activation float32 []
family 0
segment step
  loss, total = aten.nll_loss_forward(x, t) absent=("weight",) reduction=2 ignore_index={}
call step 0
loss loss
end
"""
    single, parallel = (read(text.format(number).encode(), "plan") for number in (-100, ignored))
    assert verify(single, parallel, Options(workers=0)).verdict is verdict


@pytest.mark.parametrize("rows", [1, 5])
def test_a_sum_into_rows_is_refuted_by_rows_that_there_are(rows):
    text = """verdict-plan 1
devices 1
tensors
  x input float32 [{rows}, 2] origin name
  t input int64 [5] origin name
  s input float32 [5, 2] origin name
  y activation float32 [{rows}, 2]
  loss activation float32 []
family 0
segment step
  y = aten.index_add(x, t, s) dim=0 alpha={alpha}
  loss = aten.sum(y)
call step 0
loss loss
end
"""
    single, right, wrong = (read(text.format(rows=rows, alpha=a).encode(), "plan") for a in (0.5, 0.5, 0.501))
    assert verify(single, right, Options(workers=0)).verdict is Verdict.PROVED
    assert verify(single, wrong, Options(workers=0), causes=one_of(EXPLAINED)).verdict is Verdict.REFUTED
