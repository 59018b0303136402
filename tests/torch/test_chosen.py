"""What data chooses is one of so many: losses over chosen classes are proved, and those that ignore one are refuted."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("chosen.py")
RIGHT = ("chosen", "own", "greatest", "second", "hot", "policy", "normal", "nearer", "variance")
OF_SOME = ("ignored", "second_ignored", "counted_hot")
"""Losses over so many elements as data chooses: the mean of the ranks' is another."""
BEYOND = "beyond"
PAIRS = (
    *((f"build_{name}", f"single_{name}") for name in (*RIGHT, *OF_SOME, BEYOND)),
    *((f"build_{name}_summed", f"single_{name}") for name in RIGHT),
)


def told(name):
    return answers(FILE, PAIRS, tensors="real")[name]


@pytest.mark.parametrize("name", RIGHT)
def test_what_data_chooses_is_one_of_so_many(name):
    assert told(f"build_{name}").verdict == "PROVED", told(f"build_{name}").why


@pytest.mark.parametrize("name", RIGHT)
def test_that_distributions_find_no_fault_is_an_assumption(name):
    assumed = {assumption.name for assumption in told(f"build_{name}").report.assumptions}
    assert ("valid-arguments" in assumed) is (name in {"policy", "normal", "nearer", "variance"})


@pytest.mark.parametrize("name", RIGHT)
def test_gradients_that_nobody_divides_are_refuted(name):
    assert told(f"build_{name}_summed").verdict == "REFUTED", told(f"build_{name}_summed").why


@pytest.mark.parametrize("name", OF_SOME)
def test_a_mean_over_what_data_counts_is_refuted(name):
    assert told(f"build_{name}").verdict == "REFUTED", told(f"build_{name}").why


def test_a_class_that_there_is_not_is_no_number_without_effect():
    """A program for which torch ends one_hot with an error has no step."""
    assert told(f"build_{BEYOND}").verdict == "not put"
    assert "index out of range" in told(f"build_{BEYOND}").why
