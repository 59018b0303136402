"""A loss in parts that several devices hold, of several microbatches: what the parts add up to is a cut point."""

from dataclasses import replace
from importlib import import_module

import pytest

from verdict.backends.generator import Sizes, generate
from verdict.graph import Node
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Verdict

STEP = {"dp": 1, "tp": 2, "pp": 1, "cp": 2, "seq": 4, "layers": 1, "microbatches": 2, "batch": 4, "heads": 2}
SIZES = {"hidden": 4, "ffn": 4, "vocab": 4, "loss": "cross-entropy", "vocab_parallel": True}


def shifted(plan, device, by):
    """The plan in which a device has so much more than its part of the loss."""
    (held,) = (held for held in plan.losses if held.device == device)
    made = len(plan.tensors)
    segments = list(plan.segments)
    (at,) = [k for k, s in enumerate(segments) if s.device == device and any(held.tensor in n.outputs for n in s.nodes)]
    more = Node("add", (held.tensor,), (made,), (("alpha", 1), ("other", by)), "more")
    segments[at] = segments[at]._replace(nodes=(*segments[at].nodes, more))
    losses = tuple(each._replace(tensor=made) if each == held else each for each in plan.losses)
    tensors = (*plan.tensors, plan.tensors[held.tensor])
    return replace(plan, tensors=tensors, segments=tuple(segments), losses=losses, lines=())


def test_parts_that_add_up_are_proved_between_cut_points():
    single, parallel = generate("llama3", Sizes(**STEP, **SIZES))
    parts = [parallel.tensors[held.tensor].part for held in parallel.losses]
    assert sorted(parts) == [(0, 2), (0, 2), (1, 2), (1, 2)]
    report = verify(single, parallel, Options(workers=0))
    assert report.verdict is Verdict.PROVED
    assert report.evidence.by == "walk, sweep between its cut points"


@pytest.mark.parametrize("device", range(4))
def test_a_part_that_is_wrong_on_one_device_is_refuted(device):
    single, parallel = generate("llama3", Sizes(**STEP, **SIZES))
    assert verify(single, shifted(parallel, device, 1.0), Options(workers=0), causes=False).verdict is Verdict.REFUTED


def test_copies_of_a_part_are_the_same(monkeypatch):
    """Two devices whose parts are wrong by what makes up for each other are wrong beside all others."""
    single, parallel = generate("llama3", Sizes(**STEP, **SIZES))
    monkeypatch.setattr(import_module("verdict.phases.between"), "difference_at_own_shapes", lambda *pair: None)
    odd = [held.device for held in parallel.losses][1::2]
    first, second = sorted(odd, key=lambda device: parallel.tensors[parallel.losses[device].tensor].part)
    wrong = shifted(shifted(parallel, first, 1.0), second, -1.0)
    report = verify(single, wrong, Options(workers=0), causes=False)
    assert report.verdict is Verdict.REFUTED
