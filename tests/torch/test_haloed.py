"""Images cut along their height: pooling's choices at other places of a part, and a gather along another dimension."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "haloed.py"
WRONG = ("build_zeros", "build_first")
POOLED = ("build_pooled_first", "build_pooled_zeros")
PAIRS = (
    *((builder, "build_single") for builder in ("build", *WRONG)),
    *((builder, "build_pooled_single") for builder in ("build_pooled", *POOLED)),
)


def told(builder):
    return answers(FILE, PAIRS, causes=WRONG)[builder]


def test_pooled_convolutions_of_cut_images_are_proved():
    assert told("build").verdict == "PROVED", told("build").why


@pytest.mark.parametrize("builder", WRONG)
def test_a_wrong_row_above_is_refuted_where_it_is_used(builder):
    """The gather is right: what it lays side by side along one dimension is cut along another."""
    found = told(builder)
    assert found.verdict == "REFUTED", found.why
    source = FILE.read_text().splitlines()
    lines = {source[int(each.source.line) - 1] for each in found.report.findings if each.source}
    assert lines, found.why
    assert not any("# gathered" in line for line in lines), found.why


def test_windows_that_begin_with_minus_infinity_are_those_that_begin_in_padding():
    assert told("build_pooled").verdict == "PROVED", told("build_pooled").why


@pytest.mark.parametrize("builder", POOLED)
def test_windows_that_begin_with_another_row_are_refuted(builder):
    assert told(builder).verdict == "REFUTED", told(builder).why
