"""Every segment runs exactly once for every microbatch, and reducers run after the last contribution.

Where a segment does not run for a microbatch, another one that runs for some microbatches alone may make what it makes
(`unlike`): that is no fault, but one microbatch does not stand for all then.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from verdict.graph.fault import Fault, Place
from verdict.graph.names import alike
from verdict.graph.plan import ABSENT, ACCUMULATOR, ONCE_A_STEP, Call, Plan, Segment
from verdict.outcome import Finding


def check_microbatches(plan: Plan) -> tuple[Finding, ...]:
    """Every segment runs once for every microbatch; nothing is added to a gradient after its reducer."""
    findings: dict[tuple[str, int], Finding] = {}
    accumulators = frozenset(k for k, kind in enumerate(plan.kinds) if kind == ACCUMULATOR)
    read = [accumulators & {t for node in segment.nodes for t in node.inputs} for segment in plan.segments]
    written = [accumulators & {t for node in segment.nodes for t in node.outputs} for segment in plan.segments]
    for device, program in enumerate(plan.programs):
        reduced: set[int] = set()
        for call in program:
            if call.microbatch == ONCE_A_STEP:
                reduced |= read[call.segment]
                continue
            early = read[call.segment]
            if early and plan.microbatches > 1:
                problem = "is read in every microbatch, before all of them have added to it"
                mend = "read it once a step, behind the last backward pass"
                found = _reduced_early(plan, device, call, min(early), problem, mend)
                findings.setdefault(("early-reduction", 1), found)
            late = reduced & written[call.segment]
            if late:
                problem = f"is reduced before microbatch {call.microbatch} adds to it"
                mend = "move the reduction behind the last backward pass"
                found = _reduced_early(plan, device, call, min(late), problem, mend)
                findings.setdefault(("early-reduction", 0), found)
        for run in _wrong_runs(plan, runs_of(program)):
            if not run.replaced:
                found = _miscounted(plan, device, run.segment, run.microbatch, run.times)
                findings.setdefault(("microbatch", run.segment), found)
    return tuple(findings.values())


def unlike(plan: Plan) -> Iterator[tuple[int, int, int]]:
    """(device, segment, microbatch): segments that do not run for a microbatch, in whose place another one does."""
    for device, program in enumerate(plan.programs):
        for run in _wrong_runs(plan, runs_of(program)):
            if run.replaced:
                yield device, run.segment, run.microbatch


def runs_of(program: Sequence[Call]) -> dict[int, Counter[int]]:
    """How often a device runs each of its segments for each microbatch."""
    runs: dict[int, Counter[int]] = {}
    for call in program:
        if call.microbatch != ONCE_A_STEP:
            runs.setdefault(call.segment, Counter())[call.microbatch] += 1
    return runs


def is_even(counts: Counter[int], microbatches: int) -> bool:
    """Whether every microbatch is counted exactly once."""
    return len(counts) == microbatches and max(counts.values()) == 1


def walked_microbatches(plan: Plan, every: bool) -> Sequence[int]:
    """The microbatches whose columns are walked: all, or the first one that most segments run for."""
    if every:
        return range(plan.microbatches)
    runs = Counter(call.microbatch for program in plan.programs for call in program if call.microbatch != ONCE_A_STEP)
    return (max(range(plan.microbatches), key=lambda microbatch: (runs[microbatch], -microbatch)),)


class _Run(NamedTuple):
    """A segment that runs so many times for a microbatch. replaced: whether another one runs there in its place."""

    segment: int
    microbatch: int
    times: int
    replaced: bool


def _wrong_runs(plan: Plan, runs: Mapping[int, Counter[int]]) -> Iterator[_Run]:
    """Of each segment of a device that does not run once for every microbatch the first such microbatch: one for which
    nothing runs in its place, if there is one.
    """
    if all(is_even(counts, plan.microbatches) for counts in runs.values()):
        return
    uneven = {segment: counts for segment, counts in runs.items() if not is_even(counts, plan.microbatches)}
    made = {segment: _made(plan.segments[segment]) for segment in uneven}
    for segment, counts in uneven.items():
        wrong = [microbatch for microbatch in range(plan.microbatches) if counts[microbatch] != 1]
        there = {m for other in uneven if made[other] & made[segment] for m in uneven[other]}
        found = [_Run(segment, m, counts[m], replaced=counts[m] == 0 and m in there) for m in wrong]
        yield min(found, key=lambda run: run.replaced)


def _made(segment: Segment) -> frozenset[int]:
    return frozenset(tensor for node in segment.nodes for tensor in node.outputs if tensor != ABSENT)


def _reduced_early(plan: Plan, device: int, call: Call, tensor: int, problem: str, mend: str) -> Finding:
    """What is wrong with a gradient, at the nodes of a called segment that touch it."""
    segment, name = plan.segments[call.segment], plan.logicals[plan.tensors[tensor].logical].name
    nodes = (n for n in segment.nodes if tensor in n.inputs or tensor in n.outputs)
    return Finding(
        "early-reduction",
        f"{name} {problem}",
        f"{name} in segment {segment.name} on rank {device}",
        help=mend,
        evidence=Fault(tuple(Place(device, call.microbatch, node.name, node.op) for node in nodes), (tensor,)),
        kind=mend,
    )


def _miscounted(plan: Plan, device: int, segment: int, microbatch: int, times: int) -> Finding:
    nodes = plan.segments[segment].nodes
    last = nodes[-1] if nodes else None
    return Finding(
        "microbatch-missing" if times == 0 else "microbatch-duplicated",
        f"{plan.segments[segment].name} {_times(times)} for microbatch {microbatch} on rank {device}",
        f"segment {plan.segments[segment].name} on rank {device}",
        notes=(f"its last node is {last.op} {last.name}",) if last else (),
        help="run every segment exactly once for every microbatch",
        evidence=Fault(tuple(Place(device, microbatch, node.name, node.op) for node in nodes)),
        kind=alike(plan.segments[segment].name),
    )


def _times(count: int) -> str:
    return f"runs {count} times" if count else "does not run"
