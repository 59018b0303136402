"""What is PROVED where nothing is divided by zero is run where masks cover all: a number made of what is infinite."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("emptied.py")
BUILDERS = ("build_mean", "build_masked", "build_alike", "build_saturated", "build_inverted")
LABELLED = ("build_ignored", "build_ignored_kept")


def told(builder):
    return answers(FILE, tuple((each, each) for each in (*BUILDERS, *LABELLED)), causes=ALL)[builder]


@pytest.mark.parametrize("builder", ["build_mean", "build_masked", "build_alike"])
def test_what_has_no_value_there_or_the_same_is_proved(builder):
    assert told(builder).verdict == "PROVED", told(builder).why


@pytest.mark.parametrize("builder", ["build_saturated", "build_inverted"])
def test_another_number_there_refutes(builder):
    assert told(builder).verdict == "REFUTED", told(builder).why
    assert "all integers the least that they may be" in told(builder).why, told(builder).why


def test_where_no_loss_is_a_number_no_gradient_is_compared():
    assert told("build_ignored").verdict == "PROVED", told("build_ignored").why
    assert told("build_ignored_kept").verdict == "REFUTED", told("build_ignored_kept").why
    assert "where clamp" in told("build_ignored_kept").why
