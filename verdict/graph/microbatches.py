"""Every segment runs exactly once for every microbatch, and reducers run after the last contribution."""

from collections import Counter
from collections.abc import Sequence

from verdict.graph.fault import Fault, Place
from verdict.graph.names import alike
from verdict.graph.plan import ACCUMULATOR, ONCE_A_STEP, Call, Plan
from verdict.outcome import Finding


def check_microbatches(plan: Plan) -> tuple[Finding, ...]:
    """Every segment runs once for every microbatch; nothing is added to a gradient after its reducer."""
    findings: dict[tuple[str, int], Finding] = {}
    accumulators = frozenset(k for k, kind in enumerate(plan.kinds) if kind == ACCUMULATOR)
    read = [accumulators & {t for node in segment.nodes for t in node.inputs} for segment in plan.segments]
    written = [accumulators & {t for node in segment.nodes for t in node.outputs} for segment in plan.segments]
    for device, program in enumerate(plan.programs):
        runs: dict[int, Counter[int]] = {}
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
            runs.setdefault(call.segment, Counter())[call.microbatch] += 1
            late = reduced & written[call.segment]
            if late:
                problem = f"is reduced before microbatch {call.microbatch} adds to it"
                mend = "move the reduction behind the last backward pass"
                found = _reduced_early(plan, device, call, min(late), problem, mend)
                findings.setdefault(("early-reduction", 0), found)
        for index, counts in runs.items():
            wrong = _uneven(counts, plan.microbatches)
            if wrong is not None:
                findings.setdefault(
                    ("microbatch", index), _miscounted(plan, device, index, wrong, counts[wrong])
                )
    return tuple(findings.values())


def walked_microbatches(plan: Plan, every: bool) -> Sequence[int]:
    """The microbatches whose columns are walked: all, or the first one that most segments run for."""
    if every:
        return range(plan.microbatches)
    runs = Counter(call.microbatch for program in plan.programs for call in program if call.microbatch != ONCE_A_STEP)
    return (max(range(plan.microbatches), key=lambda microbatch: (runs[microbatch], -microbatch)),)


def _uneven(counts: Counter[int], microbatches: int) -> int | None:
    """The first microbatch that is not counted exactly once."""
    if len(counts) == microbatches and max(counts.values()) == 1:
        return None
    return next(microbatch for microbatch in range(microbatches) if counts[microbatch] != 1)


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
