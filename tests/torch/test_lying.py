"""Tensors are communicated as they lie in memory: those without gaps are followed, in any order of their dimensions."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from tests.torch.verdicts import answers  # noqa: E402

FILE = Path(__file__).with_name("lying.py")
RIGHT = (
    "build_turned", "build_square_turned", "build_square_one_turned", "build_broadcast", "build_together",
    "build_begun",
)  # fmt: skip
WRONG = ("build_square_one_moved", "build_turned_twice", "build_together_one_left", "build_begun_read")
OPEN = "build_columns"
UNEQUAL = ("build_unequal", "build_unequal_nested")


def told(name, tensors="fake"):
    names = (*RIGHT, *WRONG, OPEN) if tensors == "fake" else UNEQUAL
    pairs = tuple((each, "build_square_single" if "square" in each else "build_single") for each in names)
    return answers(FILE, pairs, tensors=tensors)[name]


@pytest.mark.parametrize("name", RIGHT)
def test_what_lies_alike_on_all_ranks_is_proved(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_is_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why


def test_what_has_gaps_is_not_known():
    assert told(OPEN).verdict in ("UNKNOWN", "not put")


def test_tensors_of_unequal_parts_are_followed_or_refused():
    assert told("build_unequal", "real").verdict == "PROVED", told("build_unequal", "real").why
    found = told("build_unequal_nested", "real")
    assert found.verdict == "not put"
    assert "makes a nested tensor" in found.why and "torch.jagged" in found.why
