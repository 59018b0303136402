"""Vocabularies that do not divide by the ranks, padded where they end, and a large one: right and wrong by a row."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("uneven_vocabulary.py")
WRONG = ("unmasked", "last_row_masked", "last_word_unread")
PAIRS = tuple((builder, "build_single") for builder in ("build", *(f"build_{name}" for name in WRONG)))
ODD = tuple((builder.replace("build", "build_odd", 1), "build_odd_single") for builder, _ in PAIRS)
LARGE = ("build_large", *(f"build_large_{name}" for name in WRONG[1:]))


def test_a_padded_vocabulary_is_proved():
    told = answers(FILE, PAIRS)["build"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("name", WRONG)
def test_one_row_of_it_that_is_wrong_is_refuted(name):
    told = answers(FILE, PAIRS)[f"build_{name}"]
    assert told.verdict == "REFUTED", told.why


def test_a_large_padded_vocabulary_is_proved():
    told = answers(FILE, ODD)["build_odd"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("name", WRONG)
def test_one_row_of_thousands_that_is_wrong_is_refuted(name):
    told = answers(FILE, ODD)[f"build_odd_{name}"]
    assert told.verdict == "REFUTED", told.why


def test_a_large_vocabulary_is_proved():
    told = answers(FILE, tuple((builder, "build_large_single") for builder in LARGE))["build_large"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("builder", LARGE[1:])
def test_one_word_of_thousands_that_is_wrong_is_refuted(builder):
    told = answers(FILE, tuple((builder, "build_large_single") for builder in LARGE))[builder]
    assert told.verdict == "REFUTED", told.why
