"""Counts that are kept from zero, where one device divides by them as they are."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("no_count.py")


def told(name):
    pairs = tuple((each, "build_single") for each in ("build", "build_own_count", "build_bounded_by_two"))
    return answers(FILE, pairs, causes=("build_own_count",))[name]


def test_a_count_that_is_kept_from_zero_is_proved():
    found = told("build")
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


def test_a_rank_that_divides_by_its_own_labels_is_refuted():
    found = told("build_own_count")
    assert found.verdict == "REFUTED", found.why
    assert "sum (no_count.py:51)" in found.why


def test_another_bound_is_not_proved():
    assert told("build_bounded_by_two").verdict != "PROVED"
