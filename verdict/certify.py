"""A refutation is certified before it is said: both plans are run on random numbers, from end to end.

A divergence of the walk says that the parallel plan is not written as the single-device plan is: it reads something
else there. A stage that fails says that a node computes something else than its partner. Where the numbers of the
results agree all the same, neither refutes the plan. It stays an open question, never a proof.
"""

from dataclasses import replace

from verdict.concrete import AGREE, CANNOT, Comparison, compare_prepared, prepare
from verdict.graph import Plan
from verdict.lineage.reference import draws_again, reference
from verdict.outcome import Finding
from verdict.report import Open, Report

SEEDS = (1, 2)
"""The random values that the plans are run on; they must agree on all of these."""
MOST_STEPS = 60_000
MOST_WORK = 100_000_000
"""What is run: how many nodes, over all ranks and microbatches, and how many elements they read and write."""

CERTAIN = frozenset(
    {
        *("assumption-denied", "dtype-differs"),
        *("read-before-wait", "unordered-streams", "stale-read", "overwritten-early"),
    }
)
"""Findings of what numbers do not show: what is taken on trust, number formats, and the order of memory's use."""


def certified(single: Plan, parallel: Plan, report: Report) -> Report:
    """The report with those of its findings that are certified, or that nothing can be said against.

    Where the plans agree on random numbers, what was found on the way becomes open. A finding of a plan that is too
    large to be run, or that cannot be run, stands, and a note says so.
    """
    doubtful = [finding for finding in report.findings if finding.code not in CERTAIN]
    if not doubtful:
        return report
    found = _run(single, parallel)
    if isinstance(found, str):
        return replace(report, notes=(*report.notes, _not_run(found)))
    if found.outcome == CANNOT:
        return replace(report, notes=(*report.notes, _not_run("; ".join(map(str, found.faults)))))
    if found.outcome != AGREE:
        return report
    return replace(
        report,
        findings=tuple(finding for finding in report.findings if finding.code in CERTAIN),
        open=(*(_open(finding) for finding in doubtful), *report.open),
    )


def _run(single: Plan, parallel: Plan) -> Comparison | str:
    """What the first seed that shows a difference shows, else the last one; a sentence where it is too much."""
    if draws_again(reference(single, 1, {})):
        return "several of its nodes draw random numbers for one input, and drew the same if they were run"
    steps = _steps(single) + _steps(parallel)
    if steps > MOST_STEPS:
        return f"that would take {steps:,} nodes, the limit is {MOST_STEPS:,}"
    prepared = prepare(single, parallel, MOST_WORK)
    if isinstance(prepared, Comparison):
        return prepared
    for seed in SEEDS:
        found = compare_prepared(prepared, seed)
        if found.outcome != AGREE:
            break
    return found


def _steps(plan: Plan) -> int:
    """How many nodes run in one step of training, over all ranks."""
    sizes = [len(segment.nodes) for segment in plan.segments]
    return plan.replicas * sum(sizes[call.segment] for program in plan.programs for call in program)


def _open(finding: Finding) -> Open:
    seeds = " and ".join(map(str, SEEDS))
    return Open(
        finding.where, f"{finding.title} ({finding.code}); but run on random numbers (seeds {seeds}) the plans agree"
    )


def _not_run(why: str) -> Finding:
    return Finding("not-run", "the findings are not certified by running both plans on random numbers", why)
