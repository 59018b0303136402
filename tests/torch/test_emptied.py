"""What is PROVED where nothing is divided by zero is run where masks cover all: a number made of what is infinite."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("emptied.py")
BUILDERS = ("build_mean", "build_masked", "build_alike", "build_saturated", "build_inverted")


def told(builder):
    return answers(FILE, tuple((each, each) for each in BUILDERS), causes=ALL)[builder]


@pytest.mark.parametrize("builder", ["build_mean", "build_masked", "build_alike"])
def test_what_has_no_value_there_or_the_same_is_proved(builder):
    assert told(builder).verdict == "PROVED", told(builder).why


@pytest.mark.parametrize("builder", ["build_saturated", "build_inverted"])
def test_another_number_there_refutes(builder):
    assert told(builder).verdict == "REFUTED", told(builder).why
    assert "all integers the least that they may be" in told(builder).why, told(builder).why
