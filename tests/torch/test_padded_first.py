"""The first of thousands of words is padding, for all ranks or for all but one."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("padded_first.py")
WRONG = ("padding", "ignored", "none_ignored")
PAIRS = tuple((builder, "build_single") for builder in ("build", *(f"build_{name}" for name in WRONG)))


def test_a_vocabulary_that_begins_with_padding_is_proved():
    told = answers(FILE, PAIRS)["build"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("name", WRONG)
def test_another_word_that_a_rank_takes_for_padding_is_refuted(name):
    told = answers(FILE, PAIRS)[f"build_{name}"]
    assert told.verdict == "REFUTED", told.why
