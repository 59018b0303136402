"""A mask of positions that one device does not have is told at its line, and the repair leaves it out."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("furthered.py")
BUILDERS = ("build", "build_nothing_further", "build_further")


def told(builder):
    return answers(FILE, tuple((each, "build") for each in BUILDERS), causes=ALL)[builder]


@pytest.mark.parametrize("builder", ["build", "build_nothing_further"])
def test_one_mask_is_proved(builder):
    assert told(builder).verdict == "PROVED", told(builder).why


def test_a_further_mask_is_told_at_its_line():
    answer = told("build_further")
    assert answer.verdict == "REFUTED", answer.why
    (first, *_) = answer.report.findings
    assert first.code == "operator-differs" and "mask | ((own == 5)" in first.source.text, first
    assert "due as they are" in first.title, first
