"""Numbers that go to a log alone decide nothing; those that the step goes on with are values of it."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "logged.py"
PAIRS = tuple(
    (f"build_{name}", f"build_{single}_single")
    for name, single in (
        ("kept", "kept"),
        ("kept_not_reduced", "kept"),
        ("silent", "silent"),
        ("scaled", "scaled"),
        ("scaled_by_own", "scaled"),
        ("decided", "decided"),
        ("of_python", "of_python"),
        ("in_part", "in_part"),
        ("added", "added"),
        ("added_alone", "added"),
        ("read_again", "read_again"),
        ("read_whole", "read_whole"),
        ("counted", "counted"),
        ("counted_not_reduced", "counted"),
        ("rows", "rows"),
        ("weighted", "weighted"),
    )
)


def told(name):
    return answers(FILE, PAIRS, tensors="auto")[f"build_{name}"]


@pytest.mark.parametrize("name", ["kept", "silent", "scaled", "added", "counted"])
def test_a_number_that_is_logged_or_a_value_of_the_step_is_no_question(name):
    assert told(name).verdict == "PROVED", told(name).why


@pytest.mark.parametrize("name", ["kept_not_reduced", "scaled_by_own", "added_alone", "counted_not_reduced"])
def test_what_is_wrong_beside_it_or_by_it_is_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why


@pytest.mark.parametrize("name", ["decided", "of_python", "read_again", "read_whole", "in_part", "rows"])
def test_what_decides_or_becomes_a_float_of_python_is_not_proved(name):
    assert told(name).verdict == "UNKNOWN", told(name).why


def test_a_rank_that_counts_its_own_is_not_proved():
    assert told("weighted").verdict != "PROVED", told("weighted").why


def test_a_text_of_a_number_is_an_assumption():
    assert "printed-numbers" in {assumption.name for assumption in told("kept").report.assumptions}
    assert "printed-numbers" not in {assumption.name for assumption in told("silent").report.assumptions}
