"""A message from anybody is one from the other of two ranks; from one of several it is told that nobody knows whose."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("anyone.py")
VERDICTS = {"build": "PROVED", "build_begun": "PROVED", "build_twice": "REFUTED"}


@pytest.mark.parametrize("builder", VERDICTS)
def test_of_two_ranks_the_other_one_sends(builder):
    found = answers(FILE, tuple((each, "build_single") for each in VERDICTS))[builder]
    assert found.verdict == VERDICTS[builder], found.why


def test_of_several_ranks_it_is_not_known_which_one_sends():
    found = answers(FILE, (("build_collected", "build_single"),), 3)["build_collected"]
    assert found.verdict == "not put"
    assert "recv: it takes a message from any of 2 ranks, and which one comes first is not known" in found.why
