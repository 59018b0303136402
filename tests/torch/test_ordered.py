"""Routers that sort and routers that take the greatest are one, as what is written once is added up."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("ordered.py")
RIGHT = {"build": "build_single", "build_spread": "build_single_spread"}
WRONG = {
    "build_summed": "all_reduce (ordered.py:53) sums over ranks 0, 1 where the mean",
    "build_last": "sort (ordered.py:23) makes",
}


def told(name):
    pairs = (*RIGHT.items(), *((each, "build_single") for each in WRONG))
    return answers(FILE, pairs, causes=tuple(WRONG))[name]


@pytest.mark.parametrize("name", RIGHT)
def test_one_router_in_two_forms_is_proved(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", WRONG)
def test_other_routers_are_refuted(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert WRONG[name] in found.why
