"""Writes while dispatch is switched off are seen without a run, of tensors with and without data."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers, live_answers  # noqa: E402

FILE = Path(__file__).with_name("unseen.py")
RIGHT = ("build_right", "build_looks")
WRONG = ("build_hidden", "build_loss", "build_before", "build_last", "build_last_kept", "build_weight_kept")
REAL_ALONE = ("build_last_dispatch", "build_last_keys")
"""What torch can run on memory alone."""


def told(tensors, name):
    names = (*RIGHT, *WRONG, *(REAL_ALONE if tensors == "real" else ()))
    return answers(FILE, tuple((each, "build_single") for each in names), tensors=tensors, confirm=0.0)[name]


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize("name", RIGHT)
def test_looking_is_no_write(name, tensors):
    assert told(tensors, name).verdict == "PROVED", told(tensors, name).why


@pytest.mark.parametrize("tensors", ["fake", "real"])
@pytest.mark.parametrize("name", WRONG)
def test_a_write_is_seen(name, tensors):
    found = told(tensors, name)
    assert found.verdict != "PROVED"
    assert "is written to where nothing is recorded" in found.why


@pytest.mark.parametrize("name", REAL_ALONE)
def test_a_write_to_real_memory_is_seen(name):
    found = told("real", name)
    assert found.verdict != "PROVED"
    assert "is written to where nothing is recorded" in found.why


def test_a_write_is_seen_where_all_ranks_run():
    found = live_answers(FILE, "build_single", ("build_right", "build_last_kept"), confirm=0.0)
    assert found["build_right"].verdict == "PROVED", found["build_right"].why
    assert "is written to where nothing is recorded" in found["build_last_kept"].why
