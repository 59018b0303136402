"""Masks that may cover rows as a whole, where nothing is a number on one device: plans are run on those that do not."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("covered.py")
RIGHT = ("build", "build_fsdp2")
WRONG = {
    "build_summed": "all_reduce (covered.py:52) sums over ranks 0, 1 where the mean",
    "build_first": "add (covered.py:35) makes",
}


def told(name):
    return answers(FILE, tuple((each, "build_single") for each in (*RIGHT, *WRONG)), causes=tuple(WRONG))[name]


@pytest.mark.parametrize("name", RIGHT)
def test_rows_that_may_be_covered_are_proved(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_beside_them_is_refuted(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert WRONG[name] in found.why
