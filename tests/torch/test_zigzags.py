"""Zigzag context parallelism of recorded programs is asked in the order of ranks: a rank has one piece there."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("zigzags.py")
RIGHT, WRONG = ("build", "build_indexed"), ("build_mask", "build_positions", "build_sum")


PAIRS = tuple((name, name if name in RIGHT else "build") for name in (*RIGHT, *WRONG))


def told(name):
    return answers(FILE, PAIRS, 2)[name]


@pytest.mark.parametrize("name", RIGHT)
def test_two_pieces_on_each_rank_are_proved(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.evidence.by.endswith("blocks and rows in the order of ranks")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_on_two_pieces_is_refuted(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
