"""A token that the last rank alone takes for padding, or does not: numbers that plans name are drawn on many seeds."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("padding_ids.py")
RIGHT, WRONG = ("counts", "equal"), ("neighbour", "two", "none")
PAIRS = tuple((f"build_{name}", "build_single") for name in (*RIGHT, *WRONG))


@pytest.mark.parametrize("name", RIGHT)
def test_padding_within_a_large_vocabulary_is_proved(name):
    told = answers(FILE, PAIRS)[f"build_{name}"]
    assert told.verdict == "PROVED", told.why


@pytest.mark.parametrize("name", WRONG)
def test_one_id_of_many_that_a_rank_takes_otherwise_is_refuted(name):
    told = answers(FILE, PAIRS)[f"build_{name}"]
    assert told.verdict == "REFUTED", told.why
