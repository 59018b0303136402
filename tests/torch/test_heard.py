"""What ranks communicated and Python read is known to a run of all of them alone."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("heard.py")
WRONG, RIGHT = "build_counted", "build_counted_right"
PAIRS = tuple((name, "build_single") for name in (WRONG, RIGHT))


def test_a_recording_of_one_rank_does_not_know_what_others_sent():
    found = answers(FILE, PAIRS, tensors="real", confirm=0.0)
    assert found[RIGHT].verdict == "PROVED", found[RIGHT].why
    assert found[WRONG].verdict == "UNKNOWN"
    assert "as if each had sent its own" in found[WRONG].why


def test_whom_ranks_meet_that_depends_on_what_they_read_is_not_refuted():
    pairs = (("build_rooted_right", "build_single"), ("build_rooted_apart", "build_single"))
    found = answers(FILE, pairs, tensors="real")
    assert found["build_rooted_right"].verdict == "UNKNOWN", found["build_rooted_right"].why
    assert found["build_rooted_apart"].verdict == "REFUTED"


def test_a_run_of_all_ranks_knows_it():
    found = answers(FILE, PAIRS, tensors="real")
    assert found[RIGHT].verdict == "PROVED", found[RIGHT].why
    assert found[WRONG].verdict == "not put"
    assert "holds other numbers in loss" in found[WRONG].why
