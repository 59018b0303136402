"""Repairs of small plans that the walk does not prove: the sweep decides them, and none is told without its proof."""

from dataclasses import replace

import pytest

from tests.builders import FAST
from verdict.backends import pairs
from verdict.bugs.command import SUITE
from verdict.options import Options
from verdict.phases import Query, walk
from verdict.pipeline import decide, verify
from verdict.repair import repairs
from verdict.report import Verdict

OPTIONS = Options(workers=0, solver=FAST, attempts=None)
SWEPT = {
    "deepspeed-8475": "all_reduce(sum) over ranks 0, 1 after norm2",
}
"""Bugs of the suite whose repaired plan the walk leaves open, and what the repair says."""
CORRECTED = {
    "megatron-lm-1685": "over ranks 0, 2 behind linear.grad dh",
    "mlx-lm-1413": "count=4 in mean loss",
}
"""Bugs that the walk names and the sweep corrects: the finding is the one's, the repair the other's."""


def asked(name):
    single, wrong = pairs.load(SUITE, name).plans()
    return Query(single, wrong, OPTIONS)


@pytest.mark.parametrize("name", SWEPT)
def test_what_only_the_sweep_proves_is_a_repair(name):
    query = asked(name)
    examined = decide(query, walk(query))
    alone, found = repairs(query, examined), repairs(query, examined, decide)
    assert all(one.proved for one in found) and found
    assert not any(one.proved for one in alone)
    assert SWEPT[name] in found[0].sentence
    assert verify(query.single, found[0].plan, replace(OPTIONS, attempts=0)).verdict is Verdict.PROVED


def test_no_repair_is_told_where_nobody_proves_it():
    query = asked("deepspeed-8475")
    examined = decide(query, walk(query))
    assert not any(one.proved for one in repairs(query, examined, lambda _, walked: walked))


@pytest.mark.parametrize("name", CORRECTED)
def test_the_findings_of_the_walk_are_repaired_by_corrections(name):
    query = asked(name)
    report = verify(query.single, query.parallel, OPTIONS)
    assert report.swept is None and report.verdict is Verdict.REFUTED
    assert CORRECTED[name] in "; ".join(one.sentence for one in report.repairs)
    assert CORRECTED[name] in report.findings[0].help
    assert all(one.proved for one in report.repairs)
    assert verify(query.single, report.repairs[0].plan, replace(OPTIONS, attempts=0)).verdict is Verdict.PROVED


MENDED = {
    "automodel-3530": "identity dw plus what linear.grad dw_0 makes",
    "mlx-lm-1544": "accumulate dw plus what linear.grad dw_2 makes",
    "transformerengine-1557": "div p_other reads what",
    "veomni-862": "in all_reduce norm2",
    "verl-3691": "in all_reduce tokens",
    "deepspeed-7839-zero-grad": "mul u2 reads what all_reduce g2 makes as input 0",
}
"""Bugs that corrections mend by a summand, another wire, or another group."""


@pytest.mark.parametrize("name", MENDED)
def test_corrections_of_wires_summands_and_groups_are_proved(name):
    query = asked(name)
    report = verify(query.single, query.parallel, OPTIONS)
    (repair,) = report.repairs
    assert repair.proved and MENDED[name] in repair.sentence
    assert verify(query.single, repair.plan, replace(OPTIONS, attempts=0)).verdict is Verdict.PROVED


ONE_CAUSE = {
    "deepspeed-7807": ("missing-reduction", "the sum comes too late: reduce_scatter mine"),
    "ml-by-hand-93": ("missing-reduction", "the sum comes too late: all_reduce"),
    "trl-6024": ("wrong-constant", ""),
    "nemo-speech-6449": ("wrong-constant", ""),
}
"""Bugs of which several places are wrong, with the code of the cause, and what the finding says of the others."""


@pytest.mark.parametrize("name", ONE_CAUSE)
def test_one_cause_is_one_finding(name):
    query = asked(name)
    (finding,) = verify(query.single, query.parallel, OPTIONS).findings
    code, note = ONE_CAUSE[name]
    assert finding.code == code
    assert note in "\n".join(finding.notes)


def test_values_that_are_no_parts_of_one_sum_are_no_double_count():
    query = asked("aidotnet-393")
    (finding,) = verify(query.single, query.parallel, OPTIONS).findings
    assert finding.code == "wrong-collective"
    assert "no parts of one sum: new[0:" in finding.title
