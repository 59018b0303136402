"""The end-to-end obligations: the loss, the final gradient of every weight, on every rank that holds it."""

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set

from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    BUFFER,
    ONCE_A_STEP,
    WEIGHT,
    Held,
    Place,
    Plan,
    Region,
    contains,
    shard_axes,
    whole,
)
from verdict.graph.check import made
from verdict.lineage.binding import Binding
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.compare import Difference, difference, incomplete
from verdict.lineage.cover import covers
from verdict.lineage.lineages import Evidence, Gap, Lineages
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.shards import Stated, stated_end, together
from verdict.lineage.updates import check_updates, open_updates, updates
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS, Value
from verdict.outcome import Finding

SHOWN = 8
"""How many undecided results are listed: they all follow from the gaps before them."""


def undecided(lineages: Lineages, plan: Plan, binding: Binding) -> tuple[Gap, ...]:
    """The declared results of which nothing is proved: the walk could not say what they hold, or what they must be."""
    unknown = tuple(_gap(plan, end.held, "holds at the end is not known") for end in lineages.ends if end.value is None)
    divided = shard_axes(plan)
    uneven = tuple(
        _gap(plan, end.held, "is is divided by the replicas unevenly")
        for end in lineages.ends
        if end.held.weight != ABSENT and stated_end(plan, divided, end.held) is None
    )
    return (*unknown, *uneven, *_open_losses(lineages, plan), *open_updates(lineages, plan, binding))[:SHOWN]


def check_goals(lineages: Lineages, plan: Plan, binding: Binding) -> tuple[Finding, ...]:
    """What the plan declares as its results against what it holds at the end; empty where all is as it must be."""
    own = tuple(made(plan, program) for program in plan.programs)
    return (
        *_losses(lineages, plan),
        *_gradients(lineages, plan, binding, own),
        *check_updates(lineages, plan, binding, own),
        *_crossed(lineages, plan),
        *_overwritten(lineages, plan, own),
    )


def final_gradients(reference: Reference) -> dict[int, Bases]:
    """For each single-device weight (logical tensor), the formal sum that is its gradient."""
    plan = reference.plan
    return {plan.tensors[held.weight].logical: reference.values.get(held.tensor, ()) for held in plan.gradients}


def untrained(reference: Reference) -> tuple[str, ...]:
    """Weights of which the single-device plan declares neither gradient nor update: nothing can be said of them."""
    trained = {index for index, bases in (*final_gradients(reference).items(), *updates(reference).items()) if bases}
    return tuple(
        logical.name
        for index, logical in enumerate(reference.plan.logicals)
        if logical.kind == WEIGHT and index not in trained
    )


def _losses(lineages: Lineages, plan: Plan) -> Iterator[Finding]:
    reference = lineages.reference
    due = _due_losses(reference)
    if not due:
        return
    seen: set[Bases] = set()
    ends = lineages.ends[: len(plan.losses)]
    for held, value in ends:
        if value is None:
            continue
        bases = tuple(share.base for share in value)
        expected = bases if bases in due else min(due, default=())
        seen.add(expected)
        region = whole(reference.column_shape(expected[0])) if expected else ()
        found = difference(value, expected, region, reference.bases) or _again(reference, value)
        if found is not None:
            yield _finding(found, f"the loss on rank {held.device}", held, value, expected, Stated(region))
    for bases in sorted(due - seen) if ends and all(end.value is not None for end in ends) else ():
        yield Finding("loss-missing", f"no rank holds {reference.bases[bases[0]].name}", "the loss")
    if due and not plan.losses:
        yield Finding("loss-missing", "no rank of the parallel plan holds a loss", "the loss")


def _due_losses(reference: Reference) -> set[Bases]:
    return {reference.values.get(held.tensor, ()) for held in reference.plan.losses}


def _again(reference: Reference, value: Value) -> Difference | None:
    """Why the losses of the replicas do not add up to the loss: each holds the sum of them already."""
    for share in value:
        if share.spread & OVER_REPLICAS:
            name = reference.bases[share.base].name
            return Difference("reduced-twice", (share.base,), f"{name} is added up over the replicas before its end")
    return None


def _open_losses(lineages: Lineages, plan: Plan) -> Iterator[Gap]:
    """Losses that are the same in all columns, which are not what a sum over the columns is made of."""
    bases = lineages.reference.bases
    for held, value in lineages.ends[: len(plan.losses)] if plan.columns > 1 else ():
        if value and any(bases[share.base].column == NO_COLUMN for share in value):
            yield _gap(plan, held, "is does not depend on the batch, and losses of replicas and microbatches add up")
        elif value and plan.kind(held.tensor) != ACCUMULATOR and any(s.spread & OVER_MICROBATCHES for s in value):
            yield _gap(plan, held, "is was added up over the microbatches before its end")


def _gradients(lineages: Lineages, plan: Plan, binding: Binding, own: Sequence[Set[int]]) -> Iterator[Finding]:
    """own: what the nodes of each device make."""
    reference = lineages.reference
    due = final_gradients(reference)
    regions: dict[int, set[Region]] = defaultdict(set)
    declared: set[tuple[int, int]] = set()
    divided = shard_axes(plan)
    for held, value in lineages.ends[len(plan.losses) : len(plan.losses) + len(plan.gradients)]:
        weight, must = plan.tensors[held.weight], stated_end(plan, divided, held)
        single = binding.logical.get(weight.logical)
        declared.add((held.device, held.weight))
        if single is None or single not in due or must is None:
            continue
        regions[single].add(together(must, plan.replicas))
        if value is None:
            continue
        name = plan.logicals[weight.logical].name
        found = difference(value, due[single], must.region, reference.bases, must.shard)
        found = found or incomplete(value, reference.bases, plan)
        if found is not None:
            where = f"the gradient of {name} on rank {held.device}"
            yield _finding(found, where, held, value, due[single], must)
    trained = frozenset(index for index, bases in due.items() if bases)
    yield from _undeclared(lineages, plan, binding, declared, trained, own)
    for single, bases in due.items():
        logical = reference.plan.logicals[single]
        if bases and not covers(regions[single], logical.shape):
            yield Finding(
                "weight-not-covered",
                f"no rank holds the gradient of {'all' if not regions[single] else 'a part'} of {logical.name}",
                f"weight {logical.name} of the single-device plan",
            )


def _undeclared(
    lineages: Lineages,
    plan: Plan,
    binding: Binding,
    declared: Set[tuple[int, int]],
    trained: Set[int],
    own: Sequence[Set[int]],
) -> Iterator[Finding]:
    """Weights that a rank computes with, though it has no gradient of them."""
    for device, held in enumerate(lineages.held):
        for tensor in held:
            if plan.kind(tensor) != WEIGHT or (device, tensor) in declared or tensor in own[device]:
                continue
            if _updated(plan, device, tensor):
                continue
            single = binding.logical.get(plan.tensors[tensor].logical)
            if single in trained:
                name = plan.logicals[plan.tensors[tensor].logical].name
                yield Finding(
                    "gradient-missing",
                    f"rank {device} uses {name} and has no gradient of it",
                    f"the gradient of {name} on rank {device}",
                )


def _updated(plan: Plan, device: int, tensor: int) -> bool:
    """Whether a device declares the updated value of a weight that it uses: then its gradient may be elsewhere."""
    share = plan.tensors[tensor]
    shares = (plan.tensors[held.weight] for held in plan.outputs if held.device == device and held.weight != ABSENT)
    return any(other.logical == share.logical and contains(other.region, share.region) for other in shares)


def _crossed(lineages: Lineages, plan: Plan) -> Iterator[Finding]:
    """Inputs taken from another microbatch: harmless only where all microbatches hold the same."""
    bases = lineages.reference.bases
    for device, program in enumerate(plan.programs):
        for call in program:
            for tensor, microbatch in call.crossed:
                value = lineages.held[device].get(tensor)
                if value is not None and all(bases[share.base].column == NO_COLUMN for share in value):
                    continue
                name = plan.logicals[plan.tensors[tensor].logical].name
                yield Finding(
                    "wrong-input",
                    f"it reads {name} of microbatch {microbatch} in microbatch {call.microbatch}",
                    f"segment {plan.segments[call.segment].name} on rank {device}, microbatch {call.microbatch}",
                    help=f"wire it to {name} of microbatch {call.microbatch}",
                )


def _overwritten(lineages: Lineages, plan: Plan, own: Sequence[Set[int]]) -> Iterator[Finding]:
    """Weights and buffers are there once: what each microbatch makes of its own would overwrite the one before."""
    if plan.microbatches == 1:
        return
    bases = lineages.reference.bases
    for device in range(plan.devices):
        for tensor in sorted(own[device]):
            value = lineages.held[device].get(tensor)
            if plan.kind(tensor) not in (WEIGHT, BUFFER) or value is None:
                continue
            if any(bases[share.base].column != NO_COLUMN for share in value):
                name = plan.logicals[plan.tensors[tensor].logical].name
                yield Finding(
                    "broken-data-flow",
                    f"{name} is one {plan.kind(tensor)} for all microbatches, and each makes its own of it",
                    f"{name} on rank {device}",
                    help="let it be a tensor of each microbatch",
                )


def _finding(found: Difference, where: str, held: Held, value: Value, expected: Bases, must: Stated) -> Finding:
    place = Place(held.device, ONCE_A_STEP, where, "output")
    about = Evidence((place,), (held.tensor,), value, expected, must.region, shard=must.shard)
    return Finding(found.code, found.text, where, evidence=about)


def _gap(plan: Plan, held: Held, problem: str) -> Gap:
    name = plan.logicals[plan.tensors[held.tensor].logical].name
    return Gap(f"what {name} {problem}", Place(held.device, ONCE_A_STEP, "the end of the step", "output"))
