"""What a plan must be for the other checks to make sense: every index names something, every node is of its form, no
statement contradicts another, and nothing is larger than the limits. Of a plan that is not so no question can be put.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from verdict.errors import PlanFileError
from verdict.graph.limits import beyond
from verdict.graph.misfit import (
    CALL,
    DEVICES,
    GRADIENT_OF,
    LOSS,
    NODE,
    OUTPUT,
    SEED,
    TENSOR,
    At,
    Misfit,
)
from verdict.graph.nodes import Attributed, malformed
from verdict.graph.plan import ABSENT, ONCE_A_STEP, Plan
from verdict.graph.statements import contradictions, not_single

NO_RULES: Mapping[str, Attributed] = MappingProxyType({})


def require_form(plan: Plan, rules: Mapping[str, Attributed] = NO_RULES) -> None:
    """Raise PlanFileError for the first thing in `plan` that makes no sense at all.

    rules: of operators, against which the attributes of nodes are held.
    """
    for misfit in misfits(plan, rules):
        raise PlanFileError(plan.source, misfit.problem, misfit.help)


def require_whole(single: Plan) -> None:
    """Raise PlanFileError for the first thing that the single-device plan states of shares, of which it has none."""
    for misfit in not_single(single):
        raise PlanFileError(single.source, misfit.problem, misfit.help)


def misfits(plan: Plan, rules: Mapping[str, Attributed] = NO_RULES) -> Iterator[Misfit]:
    """What makes no sense in a plan. Ask for the first: each check relies on what those before it have found right."""
    yield from _indices(plan)
    yield from _calls(plan)
    yield from beyond(plan)
    yield from contradictions(plan)
    yield from malformed(plan, rules)


def _indices(plan: Plan) -> Iterator[Misfit]:
    if min(plan.devices, plan.replicas, plan.microbatches) < 1:
        yield Misfit(At(DEVICES), "it has no device, no replica or no microbatch")
    if len(plan.programs) != plan.devices:
        yield Misfit(At(DEVICES), f"it has {plan.devices} devices and {len(plan.programs)} programs")
    for number, tensor in enumerate(plan.tensors):
        if not 0 <= tensor.logical < len(plan.logicals):
            yield Misfit(At(TENSOR, number), "a tensor names no logical tensor")
    tensors = len(plan.tensors)
    for number, segment in enumerate(plan.segments):
        if not 0 <= segment.device < plan.devices:
            yield Misfit(At(NODE, number), f"segment {segment.name} is of rank {segment.device}, which does not exist")
        for place, node in enumerate(segment.nodes):
            for end in (*node.inputs, *node.outputs):
                if end != ABSENT and not 0 <= end < tensors:
                    problem = f"{node.op} {node.name} on rank {segment.device}: tensor {end} does not exist"
                    yield Misfit(At(NODE, number, place), problem)
    yield from _ends(plan)


def _ends(plan: Plan) -> Iterator[Misfit]:
    for kind, declared in ((LOSS, plan.losses), (GRADIENT_OF, plan.gradients), (OUTPUT, plan.outputs)):
        for number, held in enumerate(declared):
            if not 0 <= held.device < plan.devices or not _names(plan, held.tensor):
                yield Misfit(At(kind, number), f"a declared {kind} names rank {held.device}, tensor {held.tensor}")
            if held.weight != ABSENT and not _names(plan, held.weight):
                yield Misfit(At(kind, number), f"a declared {kind} is of tensor {held.weight}, which does not exist")
    for number, seed in enumerate(plan.seeds):
        if not _names(plan, seed):
            yield Misfit(At(SEED, number), "a seed names no tensor")


def _calls(plan: Plan) -> Iterator[Misfit]:
    for device, program in enumerate(plan.programs):
        for place, call in enumerate(program):
            at = At(CALL, device, place)
            if not 0 <= call.segment < len(plan.segments):
                yield Misfit(at, f"rank {device} calls segment {call.segment}, which does not exist")
            elif plan.segments[call.segment].device != device:
                yield Misfit(at, f"rank {device} calls a segment of rank {plan.segments[call.segment].device}")
            if not _is_microbatch(plan, call.microbatch):
                yield Misfit(at, f"rank {device} runs microbatch {call.microbatch} of {plan.microbatches}")
            if len({tensor for tensor, _ in call.crossed}) != len(set(call.crossed)):
                yield Misfit(at, f"rank {device} takes one tensor from two microbatches in one call")
            for tensor, microbatch in call.crossed:
                if not _names(plan, tensor):
                    yield Misfit(at, f"rank {device} takes a tensor that does not exist from another microbatch")
                elif not _is_microbatch(plan, microbatch):
                    yield Misfit(at, f"rank {device} takes a tensor of microbatch {microbatch} of {plan.microbatches}")


def _is_microbatch(plan: Plan, microbatch: int) -> bool:
    return microbatch == ONCE_A_STEP or 0 <= microbatch < plan.microbatches


def _names(plan: Plan, tensor: int) -> bool:
    return 0 <= tensor < len(plan.tensors)
