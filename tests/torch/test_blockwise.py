"""Blocks of an online softmax: what is minus infinity on some rank is no part of a sum that is due."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.truth import verdict
from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "blockwise.py"
PAIRS = (
    ("build", "build_single"),
    ("build_uncorrected", "build_single"),
    ("build_zigzag", "build_zigzag_single"),
    ("build_zigzag_uncorrected", "build_zigzag_single"),
)


def told(builder):
    return answers(FILE, PAIRS, tensors="auto", causes=("build_uncorrected",))[builder]


def test_blocks_that_are_merged_are_proved():
    assert told("build").verdict == "PROVED", told("build").why


def test_a_total_that_is_not_corrected_is_no_missing_sum_of_minus_infinity():
    found = told("build_uncorrected")
    assert found.verdict == "REFUTED", found.why
    assert all("-inf" not in finding.title and "all_reduce" not in finding.help for finding in found.report.findings)


def test_rows_that_a_block_masks_as_a_whole_are_proved_where_they_are_left_out():
    assert told("build_zigzag").verdict == "PROVED", told("build_zigzag").why


def test_a_row_that_is_not_corrected_is_refuted_beside_rows_that_are_no_number():
    assert told("build_zigzag_uncorrected").verdict == "REFUTED", told("build_zigzag_uncorrected").why


@pytest.mark.parametrize(("builder", "wrong"), [("build_zigzag", False), ("build_zigzag_uncorrected", True)])
def test_runs_tell_the_zigzags_apart(builder, wrong):
    assert bool(verdict(str(FILE), builder, "build_zigzag_single", 2)) == wrong
