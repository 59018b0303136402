"""Softmax of blocks put together: what is not rescaled, or the wrong way, is told at its line, and not at the maximum,
which is the first value that the single-device program has nowhere, in right programs, too.
"""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("rescaled.py")
PAIRS = tuple((builder, "build_single") for builder in ("build", "build_total", "build_made", "build_sign"))


def told(builder):
    return answers(FILE, PAIRS, causes=ALL)[builder]


def test_what_is_rescaled_is_proved():
    assert told("build").verdict == "PROVED", told("build").why


@pytest.mark.parametrize(
    ("builder", "line", "why"),
    [
        ("build_total", "total, made = kept", "as it is, where what is added beside it is times what exp"),
        ("build_made", "total, made = kept", "as it is, where what is added beside it is times what exp"),
        ("build_sign", "before = (now - most", "less what maximum (rescaled.py:19) makes is due"),
    ],
)
def test_what_is_not_or_the_wrong_way_is_told_at_its_line(builder, line, why):
    (first, *_) = told(builder).report.findings
    assert line in first.source.text and why in first.title, first
