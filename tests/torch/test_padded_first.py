"""The first of thousands of words is padding, or the last, for all ranks or for all but one."""

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


LAST = tuple((f"build_last{name}", "build_last_single") for name in ("", "_padding", "_ignored"))


def test_a_vocabulary_that_ends_with_padding_is_proved():
    told = answers(FILE, LAST)["build_last"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("builder", [builder for builder, _ in LAST[1:]])
def test_the_word_before_that_a_rank_takes_for_padding_is_refuted(builder):
    told = answers(FILE, LAST)[builder]
    assert told.verdict == "REFUTED", told.why


def test_it_is_told_at_the_table_and_not_at_the_loss_that_ranks_divide_otherwise():
    pair = ("build_fewer_padding", "build_fewer_single")
    told = answers(FILE, (pair,), causes=pair[:1])[pair[0]]
    assert told.verdict == "REFUTED", told.why
    (finding,) = told.report.findings
    assert finding.code == "wrong-constant" and "padding_idx" in finding.title
