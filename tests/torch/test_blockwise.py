"""Blocks of an online softmax: what is minus infinity on some rank is no part of a sum that is due."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).resolve().parent / "blockwise.py"
PAIRS = (("build", "build_single"), ("build_uncorrected", "build_single"))


def told(builder):
    return answers(FILE, PAIRS, tensors="auto")[builder]


def test_blocks_that_are_merged_are_proved():
    assert told("build").verdict == "PROVED", told("build").why


def test_a_total_that_is_not_corrected_is_no_missing_sum_of_minus_infinity():
    found = told("build_uncorrected")
    assert found.verdict == "REFUTED", found.why
    assert all("-inf" not in finding.title and "all_reduce" not in finding.help for finding in found.report.findings)
