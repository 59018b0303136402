"""Corrections of the sweep as repairs of the plan: offered where the corrected plan is proved, and only there."""

from dataclasses import replace

import pytest

from tests.sweep.plans import OPTIONS as SWEPT
from tests.sweep.plans import told, twins
from tests.sweep.test_causes import CASES, DATA, pair
from verdict.errors import PlanFileError
from verdict.phases import Query, walk
from verdict.pipeline import decide, verify
from verdict.repair import corrections
from verdict.report import Verdict

OPTIONS = replace(SWEPT, attempts=None)
REPAIRED = {
    "no reduction in the forward pass": "all_reduce(sum) over ranks 0, 1 behind",
    "no reduction of a gradient": "all_reduce(sum) over ranks 0, 1 behind",
    "a mean of gradients": "reduce='sum' in all_reduce",
    "another exponent": "exponent=2 in",
    "a factor": "other=1 in mul two",
    "a factor that no number states": "times 1/3",
}
"""Faults of tests/sweep/test_causes.py, and what the sentence of the repair says."""


def verdict_of(query):
    return decide(query, walk(query)).report


def repaired(single, parallel):
    """The repairs that the corrections of the sweep's findings make."""
    query = Query(single, parallel, OPTIONS)
    examined = decide(query, walk(query))
    report = replace(examined.report, findings=told(single, parallel))
    return corrections(query, examined, report, verdict_of)


@pytest.mark.parametrize("name", REPAIRED)
def test_a_correction_is_a_repair_that_is_proved(name):
    plan, right, wrong, _, _ = CASES[name]
    good, bad = twins(pair(plan, right, wrong))
    (found,) = repaired(*bad)
    assert REPAIRED[name] in found.sentence
    assert found.proved
    assert verify(good[0], found.plan, OPTIONS).verdict is Verdict.PROVED
    assert verify(*bad, OPTIONS).verdict is Verdict.REFUTED


def test_two_causes_are_repaired_together():
    text = pair(DATA, 'dw = all_reduce(dw\'2) ranks=dp reduce="sum"', "dw = identity(dw'2)")
    line = '  dv = all_reduce(dv\'2) ranks=dp reduce="sum"\n'
    other = '  dv = all_reduce(dv\'2) ranks=dp reduce="avg"\n'
    _, bad = twins(text.replace(line, f"- {line.strip()}\n+ {other.strip()}\n"))
    found = repaired(*bad)
    assert [one.codes for one in found] == [("missing-reduction",), ("mean-instead-of-sum",)]
    assert all("with the other repairs" in one.sentence for one in found)
    assert verify(bad[0], found[0].plan, OPTIONS).verdict is Verdict.PROVED


def malformed(query):
    raise PlanFileError(query.parallel.source, "it takes a mean of int64", "add up, and divide")


def test_no_repair_is_told_that_is_not_proved():
    plan, right, wrong, _, _ = CASES["a mean of gradients"]
    _, (single, parallel) = twins(pair(plan, right, wrong))
    query = Query(single, parallel, OPTIONS)
    examined = decide(query, walk(query))
    report = replace(examined.report, findings=told(single, parallel))
    assert corrections(query, examined, report, verdict_of)
    assert not corrections(query, examined, report, lambda _: report)
    assert not corrections(query, examined, report, malformed)
    assert not corrections(replace(query, options=replace(OPTIONS, attempts=0)), examined, report, verdict_of)
