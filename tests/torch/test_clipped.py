"""A clipped norm under DistributedDataParallel is proved between cut points, and wrong norms are refuted."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("clipped.py")
RIGHT = {"build": "build", "build_twice": "build_twice"}
WRONG = {"build_clipped_first": "build", "build_halved": "build", "build_twice_undivided": "build_twice"}


def told(name):
    return answers(FILE, tuple({**RIGHT, **WRONG}.items()), tensors="real")[name]


@pytest.mark.parametrize("name", RIGHT)
def test_a_clipped_norm_is_proved_between_cut_points(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.swept.islands > 0


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_norm_is_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why
