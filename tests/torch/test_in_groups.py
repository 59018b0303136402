"""Group normalisation of images of some size shrinks, and groups are independent: right programs are proved."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "in_groups.py"
ROWS = (("build", "build_single"), ("build_shift", "build_single"))
CHANNELS = (("build_channels", "build_channels_single"), ("build_smaller", "build_channels_single"))


def told(builder):
    pairs = ROWS if builder in dict(ROWS) else CHANNELS
    return answers(FILE, pairs, causes=("build_smaller",))[builder]


@pytest.mark.parametrize("builder", ["build", "build_channels"])
def test_images_and_whole_groups_of_channels_are_proved(builder):
    assert told(builder).verdict == "PROVED", told(builder).why


def test_a_shift_that_is_not_reduced_is_refuted():
    assert told("build_shift").verdict == "REFUTED", told("build_shift").why


def test_smaller_groups_are_refuted_at_their_line():
    """How many channels a rank has is its own, and what only moves the result is not to blame."""
    found = told("build_smaller")
    assert found.verdict == "REFUTED", found.why
    first = found.report.findings[0]
    assert "# normed" in FILE.read_text().splitlines()[first.source.line - 1], found.why
    assert "has C=" not in first.title
