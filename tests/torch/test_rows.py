"""Ranks that flatten a part of every sequence: large steps are decided with rows in the order of ranks."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from tests.torch.verdicts import answers

FILE = Path(__file__).with_name("striped.py")
ON_TWO = ("sequence", "missing", "specs", "average", "average_missing")
ON_FOUR = ("both", "both_missing", "both_specs")
MISSING = ("missing", "average_missing", "both_missing")
BY_RANK = "rows in the order of ranks"


def told(name):
    names, world = (ON_FOUR, 4) if name in ON_FOUR else (ON_TWO, 2)
    pairs, explained = tuple((f"build_{each}",) * 2 for each in names), tuple(f"build_{each}" for each in MISSING)
    return answers(FILE, pairs, world, causes=explained)[f"build_{name}"]


@pytest.mark.parametrize("name", ["sequence", "average", "both"])
def test_what_is_right_is_proved_with_rows_in_the_order_of_ranks(name):
    found = told(name)
    assert found.verdict == "PROVED", found.why
    assert found.report.evidence.by.endswith(BY_RANK)


@pytest.mark.parametrize("name", MISSING)
def test_a_gradient_that_nobody_reduces_is_refuted(name):
    found = told(name)
    assert found.verdict == "REFUTED", found.why
    assert [finding.code for finding in found.report.findings][:1] == ["missing-reduction"], found.why


@pytest.mark.parametrize("name", ["specs", "both_specs"])
def test_targets_of_other_places_are_refuted(name):
    assert told(name).verdict == "REFUTED", told(name).why
