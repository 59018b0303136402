"""Norms at which no usual input has gradients clipped: wrong ones are refuted where they are wrong, not left open."""

from importlib import import_module
from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import ALL, answers

FILE = Path(__file__).with_name("normed.py")
WRONG = {"build_own_norm": "missing-reduction", "build_counted_twice": "reduced-twice"}


def told(name):
    return answers(FILE, tuple((each, "build") for each in ("build", *WRONG)), causes=ALL)[name]


def test_a_norm_of_all_shards_is_proved():
    assert told("build").verdict == "PROVED", told("build").why


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_norm_is_refuted_at_its_sum(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert WRONG[name] in {finding.code for finding in found.report.findings}


DIVIDED = (("build_divided", "build_divided"), ("build_divided_by_own", "build_divided"))


def test_what_is_divided_by_the_norm_of_all_of_it_is_proved():
    found = answers(FILE, DIVIDED)["build_divided"]
    assert found.verdict == "PROVED", found.why


def test_without_a_correction_the_trail_begins_where_parts_are_no_longer_parts(monkeypatch):
    monkeypatch.setattr(import_module("verdict.sweep.findings"), "causes", lambda scene, start, most: ([], start))
    found = answers.__wrapped__(FILE, DIVIDED[1:], causes=ALL)["build_divided_by_own"]
    assert found.verdict == "REFUTED", found.why
    first = found.report.findings[0]
    assert first.code == "not-equivalent"
    assert first.source.text.endswith("# place"), first.title
