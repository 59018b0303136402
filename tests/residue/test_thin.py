"""One index of axes along which a pair computes nothing: it stands for all of them, as is proved of each node."""

from importlib import import_module

import pytest

from tests.residue.test_by_blocks import RING, SIZES
from tests.values.outline import plans
from verdict.backends.generator import Sizes, generate
from verdict.options import Options
from verdict.outcome import Proved
from verdict.phases.prove import prove
from verdict.pipeline import verify
from verdict.report import Verdict
from verdict.residue.thin import thin

GIVEN = "\n  q input [2, 3, 4, 5]\n  k input [2, 3, 5, 4]\n"
SCORES = "  s = matmul(q, k)\n"
ATTENTION = f"{GIVEN}{SCORES}  p = aten._softmax(s) dim=3 half_to_float=False\n  y = matmul(p, q)\n  output y\n"
BY_HAND = (
    f"{GIVEN}{SCORES}  m = aten.amax(s) dim=(3,) keepdim=True\n  a = aten.sub.Tensor(s, m)\n  e = aten.exp(a)\n"
    "  t = aten.sum.dim_IntList(e) dim=(3,) keepdim=True\n  p = aten.div.Tensor(e, t)\n  y = matmul(p, q)\n  output y\n"
)


def shapes_of(plan):
    return {logical.name: logical.shape for logical in plan.logicals}


def alone(body, given=GIVEN):
    """One plan on both sides."""
    return thin(*plans(given + body, given + body))


def test_samples_and_heads_of_an_attention_are_one():
    found = thin(*plans(ATTENTION, BY_HAND))
    for plan in found[:2]:
        assert shapes_of(plan)["q"] == (1, 1, 4, 5)
        assert shapes_of(plan)["y"] == (1, 1, 4, 5)
    assert all(isinstance(one, Proved) for one in prove(found.laws, 1, Options(workers=0), {}))
    assert verify(*found[:2], Options(workers=0)).verdict is Verdict.PROVED
    assert verify(*plans(ATTENTION, BY_HAND), Options(workers=0)).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    "body",
    [
        "  y = aten._softmax(q) dim=0 half_to_float=False\n  output y\n",
        "  y = aten.cumsum(q) dim=0\n  output y\n",
        "  y = aten.flip(q) dims=(0,)\n  output y\n",
        "  y = aten.roll(q) shifts=(1,) dims=(0,)\n  output y\n",
        "  y = aten.sum.dim_IntList(q) dim=(0,) keepdim=False\n  output y\n",
        "  y = aten.amax(q) dim=(0,) keepdim=True\n  z = aten.sub.Tensor(q, y)\n  output z\n",
        "  i = aten.arange.start_step() start=0 end=2 step=1 dtype=\"float32\"\n  v = view(i) size=(2, 1, 1, 1)\n"
        "  y = aten.mul.Tensor(q, v)\n  output y\n",
        "  v = view(q) size=(6, 4, 5)\n  y = aten._softmax(v) dim=1 half_to_float=False\n  output y\n",
    ],
)  # fmt: skip
def test_axes_along_which_something_is_computed_are_kept(body):
    found = alone(body)
    assert found is None or shapes_of(found.single)["q"][0] == 2


def test_axes_that_change_places_are_kept():
    """Of two that are one axis by what is declared, none is left out."""
    given = "\n  q input [3, 3, 4]\n"
    same, turned = "  y = identity(q)\n  output y\n", "  y = transpose(q) dim0=0 dim1=1\n  output y\n"
    found = thin(*plans(given + same, given + turned))
    assert shapes_of(found.single)["q"] == (3, 3, 1)
    assert verify(*found[:2], Options(workers=0)).verdict is Verdict.REFUTED
    assert thin(*plans(given + same, given + same)).single.logicals[0].shape == (1, 1, 1)


def test_axes_that_ranks_divide_are_kept():
    single = GIVEN + "  y = relu(q)\n  output y\n"
    ranks = GIVEN + "  yp = relu(q[tp, :, :, :])\n  y = all_gather(yp) ranks=(0, 1) dim=0\n  output y\n"
    found = thin(*plans(single, ranks, tp=2))
    assert shapes_of(found.single)["q"] == (2, 1, 1, 1)


def wide():
    return generate("llama3", Sizes(**{**RING, **SIZES, "zigzag": False, "seq": 16, "hidden": 512, "heads": 4}))


def test_large_islands_are_asked_at_one_sample_and_head(monkeypatch):
    pairs, sweep = [], import_module("verdict.residue.residue").sweep

    def noted(single, parallel, *rest, **named):
        pairs.append(single)
        return sweep(single, parallel, *rest, **named)

    monkeypatch.setattr("verdict.residue.residue.sweep", noted)
    assert verify(*wide(), Options(workers=0)).verdict is Verdict.PROVED
    assert pairs
    assert all(plan.logicals[0].shape[:2] == (1, 1) for plan in pairs)


def test_laws_without_a_proof_leave_islands_as_they_are(monkeypatch):
    module, pairs = import_module("verdict.residue.residue"), []
    sweep, unproved = module.sweep, module._placed

    def noted(single, parallel, *rest, **named):
        pairs.append(single)
        return sweep(single, parallel, *rest, **named)

    def lawless(islands, asked):
        given = asked.unproved
        return unproved(islands, asked._replace(unproved=lambda stages: given(stages) | laws_of(stages)))

    def laws_of(stages):
        return {stage.signature for stage in stages if len(getattr(stage, "members", ())) == 2}

    monkeypatch.setattr(module, "sweep", noted)
    monkeypatch.setattr(module, "_placed", lawless)
    assert verify(*wide(), Options(workers=0)).verdict is Verdict.PROVED
    assert any(plan.logicals[0].shape[:2] != (1, 1) for plan in pairs)
