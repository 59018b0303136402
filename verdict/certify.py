"""A refutation is certified before it is said: both plans are run on random numbers, from end to end.

A divergence of the walk says that the parallel plan is not written as the single-device plan is: it reads something
else there. A stage that fails says that a node computes something else than its partner. Where the numbers of the
results agree all the same, neither refutes the plan. It stays an open question, never a proof. So it does where the
plans are too large to be run, where one microbatch of one replica alone shows nothing, and where a difference shows
only with ids that are no rows of their tables and of which nobody said that they occur.

What no proof decides is run the same way: where the numbers of the results differ, the plan is refuted by them.
"""

from collections.abc import Callable, Collection
from dataclasses import replace

from verdict.concrete import AGREE, CANNOT, DIFFER, FAULT, Comparison, Prepared, compare_prepared, prepare, work_of
from verdict.concrete.comparison import FULL_WORK
from verdict.graph import Plan
from verdict.inputs import outside, unstated
from verdict.lineage.reference import draws_again, reference
from verdict.outcome import Finding
from verdict.report import Open, Report, Verdict

SEEDS = (1, 2)
"""The random values that the plans are run on; they must agree on all of these."""
MORE_SEEDS, FEW = range(3, 25), 2_000
"""Where all of these agree, and both plans read and write no more elements than so many, more are asked."""
MOST_STEPS = 200_000
"""The most nodes of both plans to be run; of more, one microbatch of one replica is, where it speaks for the whole."""
MOST_WORK = 1_000_000_000
"""What is run: how many nodes, over all ranks and microbatches, and how many elements they read and write."""
MOST_FULL = 200_000_000
"""Up to so many elements, a difference at reduced shapes is looked for at full ones, too. Beyond, it refutes nothing by
itself: only where the walk finds a fault.
"""

DIFFERENT = 2.5e-7
"""Of the greatest element, what is a difference for certain: constants in 32 bits are four times nearer."""

CERTAIN = frozenset(
    {
        *("assumption-denied", "dtype-differs", "wrong-dtype"),
        *("read-before-wait", "unordered-streams", "stale-read", "overwritten-early"),
    }
)
"""Findings of what numbers do not show: what is taken on trust, types of numbers, and the order of memory's use."""

NOT_THERE = frozenset({"gradient-missing", "loss-missing", "output-missing", "weight-not-covered"})
"""Findings of what is not declared. Where all that is declared agrees, they alone are borne out."""

Pair = tuple[Plan, Plan]


def certified(
    single: Plan,
    parallel: Plan,
    report: Report,
    proved: Collection[Finding] = (),
    column: Callable[[], Pair | None] = lambda: None,
) -> Report:
    """The report with those of its findings that are certified by numbers, or that need none.

    proved: findings that follow from the form of the plan, or from what was proved of its outputs. column: one
    microbatch of one replica, to be run where the whole is too large, and where a difference of it is one of the whole.
    """
    if not _doubtful(report, proved):
        return report
    found, told = _run(single, parallel), _AGREE
    if isinstance(found, str) and (alone := column()) is not None:
        whole, found = found, _run(*alone)
        told = f"{whole}, and run on random numbers one microbatch of one replica agrees"
    if isinstance(found, str):
        told = f"it was not confirmed: {found}"
    elif found.outcome == CANNOT:
        told = f"it was not confirmed: {'; '.join(map(str, found.faults))}"
    elif found.outcome == FAULT and found.rows and not found.differing:
        absent = [finding for finding in report.findings if finding.code in NOT_THERE]
        return unconfirmed(report, (*proved, *absent), _AGREE) if absent else report
    elif found.outcome != AGREE:
        full = _at_full(single, parallel, found) if found.outcome == DIFFER else found
        if isinstance(full, str) or full.outcome != AGREE:
            return report
    return unconfirmed(report, proved, told)


def contradicted(single: Plan, parallel: Plan, report: Report) -> Report:
    """The report of what no proof decided, refuted where the plans, run on random numbers, come to other results."""
    if report.verdict is not Verdict.UNKNOWN:
        return report
    found = _run(single, parallel)
    if isinstance(found, str) or found.outcome != DIFFER:
        return report
    found = _at_full(single, parallel, found)
    if isinstance(found, str) or found.outcome != DIFFER or _is_reduced(found):
        return report
    row = next((row for row in found.differing if row.error > DIFFERENT * row.size), None)
    if row is None:
        return report
    title = f"run on random numbers it is off by {row.error:.3g}, where the greatest element is {row.size:.3g}"
    notes = tuple(f"where it goes wrong is open; the first question: {each.where}" for each in report.open[:1])
    finding = Finding("not-equivalent", title, f"{row.what} {row.where}", notes=notes)
    return replace(report, findings=(finding,))


def _at_full(single: Plan, parallel: Plan, found: Comparison) -> Comparison | str:
    """What a run at full shapes says where reduced ones differ, as far as it is not too much.

    A mean over tokens is one over fewer of them at reduced shapes, where a constant that stands for their number stays.
    """
    return _run(single, parallel, MOST_FULL) if _is_reduced(found) else found


def _is_reduced(found: Comparison) -> bool:
    """Whether plans were run at other shapes than their own."""
    return any(own != run for _, own, run in found.shapes)


def unconfirmed(report: Report, proved: Collection[Finding], why: str) -> Report:
    """The report with its findings as open questions, but for those that need no numbers."""
    doubtful = _doubtful(report, proved)
    return replace(
        report,
        findings=tuple(finding for finding in report.findings if finding not in doubtful),
        open=(*(Open(f.where, f"{f.title} ({f.code}); but {why}") for f in doubtful), *report.open),
    )


def _doubtful(report: Report, proved: Collection[Finding]) -> list[Finding]:
    return [finding for finding in report.findings if finding.code not in CERTAIN and finding not in proved]


_AGREE = f"run on random numbers (seeds {' and '.join(map(str, SEEDS))}) the plans agree"


def _run(single: Plan, parallel: Plan, full_work: int = FULL_WORK) -> Comparison | str:
    """What the first seed that shows a difference shows, else the last one; a sentence where it is too much.

    full_work: up to so many elements that all nodes read and write they are not reduced.
    """
    if draws_again(reference(single, 1, {})):
        return "several of its nodes draw random numbers for one input, and would draw the same if they were run"
    steps = _steps(single) + _steps(parallel)
    if steps > MOST_STEPS:
        return f"to run both plans would take {steps:,} nodes, the limit is {MOST_STEPS:,}"
    prepared = prepare(single, parallel, MOST_WORK, full_work)
    if isinstance(prepared, Comparison):
        return prepared
    found = _compared(prepared, usual=True)
    if found.outcome == AGREE and (ranges := unstated(single)) and _compared(prepared, usual=False).outcome != AGREE:
        return f"the plans differ {outside(ranges)}"
    return found


def _compared(prepared: Prepared, usual: bool) -> Comparison:
    plans = (prepared.single, prepared.parallel)
    work = sum(work_of(plan, small) for plan, small in zip(plans, prepared.small, strict=True))
    for seed in (*SEEDS, *(MORE_SEEDS if work <= FEW else ())):
        found = compare_prepared(prepared, seed, usual=usual)
        if found.outcome != AGREE:
            break
    return found


def _steps(plan: Plan) -> int:
    """How many nodes run in one step of training, over all ranks."""
    sizes = [len(segment.nodes) for segment in plan.segments]
    return plan.replicas * sum(sizes[call.segment] for program in plan.programs for call in program)
