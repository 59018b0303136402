"""Recorded programs whose layers move rows on: what few layers bring home, all of them do not."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.layers.moved import LAYERS
from tests.torch.verdicts import plan, recorded
from verdict.backends.torch.launch import Limits
from verdict.layers import KEPT
from verdict.options import Options
from verdict.phases import Query
from verdict.phases.by_layers import by_few_layers
from verdict.pipeline import verify
from verdict.report import Verdict

FILE = Path(__file__).with_name("moved.py")
LIMITS = Limits(120.0, confirm=0.0)


def pair(name):
    each = recorded(FILE, (("build_single", 1), (name, 1)), "fake", LIMITS)
    return [plan(one, name) for one in each]


def few(name):
    found = by_few_layers(Query(*pair(name), Options()), 0).examined
    return found and found.report


@pytest.mark.parametrize("seem", [8, 9, 10])
def test_rows_that_are_home_after_few_layers_are_not_proved(seem):
    """Two of the layers may look different, beside the eight that are kept."""
    assert KEPT <= seem < LAYERS
    assert few(f"build_home_{seem}") is None
    assert verify(*pair(f"build_home_{seem}"), Options(), causes=False).verdict is Verdict.REFUTED


def test_rows_that_are_home_behind_each_layer_are_proved_by_few_of_them():
    found = few("build_there_and_back")
    assert found.verdict is Verdict.PROVED
    assert found.evidence.layers[0] == KEPT


def test_rows_that_are_home_after_all_layers_are_proved_as_they_are():
    assert few(f"build_home_{LAYERS}") is None
    assert verify(*pair(f"build_home_{LAYERS}"), Options()).verdict is Verdict.PROVED
