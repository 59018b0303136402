"""Norms at which no usual input has gradients clipped: wrong ones are refuted where they are wrong, not left open."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("normed.py")
WRONG = {"build_own_norm": "missing-reduction", "build_counted_twice": "reduced-twice"}


def told(name):
    return answers(FILE, tuple((each, "build") for each in ("build", *WRONG)))[name]


def test_a_norm_of_all_shards_is_proved():
    assert told("build").verdict == "PROVED", told("build").why


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_norm_is_refuted_at_its_sum(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert WRONG[name] in {finding.code for finding in found.report.findings}
