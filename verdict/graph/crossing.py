"""Tensors that outlive the microbatch that makes them: what a call takes from another one, it must find there."""

from collections.abc import Iterator

from verdict.graph.names import alike
from verdict.graph.plan import ABSENT, ACCUMULATOR, INPUT, ONCE_A_STEP, PER_STEP, Plan
from verdict.outcome import Finding


def check_crossings(plan: Plan) -> tuple[Finding, ...]:
    """An input that is taken from another microbatch has been made by it before."""
    return tuple(dict.fromkeys(_unmade(plan)))


def _unmade(plan: Plan) -> Iterator[Finding]:
    if not any(call.crossed for program in plan.programs for call in program):
        return
    written = [{t for node in segment.nodes for t in node.outputs if t != ABSENT} for segment in plan.segments]
    for device, program in enumerate(plan.programs):
        ever = {tensor for call in program for tensor in written[call.segment]}
        made: set[tuple[int, int]] = set()
        for call in program:
            for tensor, microbatch in call.taken:
                held = plan.kind(tensor) in (INPUT, *PER_STEP) and (
                    tensor not in ever or plan.kind(tensor) == ACCUMULATOR
                )
                if held or tensor in plan.seeds or {(tensor, microbatch), (tensor, ONCE_A_STEP)} & made:
                    continue
                name = plan.logicals[plan.tensors[tensor].logical].name
                yield Finding(
                    "broken-data-flow",
                    f"{name} of microbatch {microbatch} is read before anything produces it",
                    f"segment {plan.segments[call.segment].name} on rank {device}, microbatch {call.microbatch}",
                    help="run what produces it before, or wire the input to its own microbatch",
                    kind=alike(name),
                )
            made.update((tensor, call.microbatch) for tensor in written[call.segment])
