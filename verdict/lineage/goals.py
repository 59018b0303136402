"""The end-to-end obligations: the loss, the final gradient of every weight, on every rank that holds it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from verdict.graph import ABSENT, BUFFER, WEIGHT, Plan, Region, contains
from verdict.graph.check import made
from verdict.graph.names import alike, first_of
from verdict.lineage.binding import Binding
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.cover import covers
from verdict.lineage.judged import Judged, due_losses, final_gradients
from verdict.lineage.lineages import Gap, Lineages
from verdict.lineage.reference import Reference
from verdict.lineage.shards import together
from verdict.lineage.updates import Key, check_updates, in_words, open_updates, updates, updates_due
from verdict.outcome import Finding

MOST_CROSSED = 4
"""How many inputs that are taken from another microbatch are named."""
SHOWN = 8
"""How many undecided results are listed: they all follow from the gaps before them."""


def undecided(judged: Sequence[Judged], lineages: Lineages) -> tuple[Gap, ...]:
    """The declared results of which nothing is said: what they hold or must be is not known, or nothing is due."""
    own = tuple(one.gap() for one in judged if one.problem or (one.value is None and one.fault is None))
    return (*open_updates(lineages), *own)[:SHOWN]


def check_goals(judged: Sequence[Judged], lineages: Lineages, plan: Plan, binding: Binding) -> tuple[Finding, ...]:
    """What the plan declares as its results against what it holds at the end; empty where all is as it must be."""
    own = tuple(made(plan, program) for program in plan.programs)
    return (
        *(one.finding() for one in judged if one.fault is not None),
        *_losses(judged, lineages, plan),
        *_undeclared(lineages, plan, binding, own),
        *_uncovered(judged, lineages, plan),
        *check_updates(lineages, plan, binding, own),
        *_crossed(lineages, plan),
        *_overwritten(lineages, plan, own),
    )


def untrained(reference: Reference) -> tuple[str, ...]:
    """Weights of which the single-device plan declares neither gradient nor update: nothing can be said of them."""
    trained = {index for index, bases in (*final_gradients(reference).items(), *updates(reference).items()) if bases}
    return tuple(
        logical.name
        for index, logical in enumerate(reference.plan.logicals)
        if logical.kind == WEIGHT and index not in trained
    )


def _losses(judged: Sequence[Judged], lineages: Lineages, plan: Plan) -> Iterator[Finding]:
    """Losses that nobody holds."""
    reference, due = lineages.reference, due_losses(lineages.reference)
    held = judged[: len(plan.losses)]
    if due and not held:
        yield Finding("loss-missing", "no rank of the parallel plan holds a loss", "the loss")
    if any(one.value is None for one in held):
        return
    seen = {one.of for one in held}
    for loss in due if held else ():
        if (False, loss) not in seen:
            name = reference.plan.logicals[loss].name
            yield Finding("loss-missing", f"no rank holds {name}", "the loss", kind=alike(name))


def _uncovered(judged: Sequence[Judged], lineages: Lineages, plan: Plan) -> Iterator[Finding]:
    """Gradients and further outputs of which no rank holds all that the single-device plan has."""
    reference = lineages.reference
    gradients = len(plan.losses) + len(plan.gradients)
    regions: tuple[dict[Key, set[Region]], ...] = (defaultdict(set), defaultdict(set))
    for one in judged[len(plan.losses) :]:
        if one.of is not None and one.must is not None:
            regions[one.number >= gradients][one.of].add(together(one.must, plan.replicas))
    for single, bases in final_gradients(reference).items():
        logical, held = reference.plan.logicals[single], regions[0][True, single]
        if bases and not covers(held, logical.shape):
            title = f"no rank holds the gradient of {'all' if not held else 'a part'} of {logical.name}"
            kind = bool(held), alike(logical.name)
            yield Finding("weight-not-covered", title, f"weight {logical.name} of the single-device plan", kind=kind)
    for key, bases in updates_due(reference).items():
        if bases and not covers(regions[1][key], reference.column_shape(bases[0])):
            name = reference.plan.logicals[key[1]].name
            title = f"no rank holds {'all' if not regions[1][key] else 'a part'} of {in_words(key[0], name)}"
            about = key[0], bool(regions[1][key]), alike(name)
            yield Finding("output-missing", title, f"output {name}", kind=about)


def _undeclared(lineages: Lineages, plan: Plan, binding: Binding, own: Sequence[Set[int]]) -> Iterator[Finding]:
    """Weights that a rank computes with, though it has no gradient of them. own: what the nodes of each device make.

    Where a rank declares the updated value, the gradient may be elsewhere.
    """
    updated = _updated(plan)
    declared = {(held.device, held.weight) for held in plan.gradients}
    trained = {index for index, bases in final_gradients(lineages.reference).items() if bases}
    kinds = plan.kinds
    for device, held in enumerate(lineages.held):
        for tensor in held:
            if kinds[tensor] != WEIGHT or (device, tensor) in declared or tensor in own[device]:
                continue
            share = plan.tensors[tensor]
            if any(contains(region, share.region) for region in updated.get((device, share.logical), ())):
                continue
            single = binding.logical.get(share.logical)
            if single in trained:
                name = plan.logicals[share.logical].name
                yield Finding(
                    "gradient-missing",
                    f"rank {device} uses {name} and has no gradient of it",
                    f"the gradient of {name} on rank {device}",
                    kind=alike(name),
                )


def _updated(plan: Plan) -> Mapping[tuple[int, int], Set[Region]]:
    """The regions of weights, by device and logical tensor, of which a device declares the updated values."""
    found: dict[tuple[int, int], set[Region]] = defaultdict(set)
    for held in plan.outputs:
        if held.weight != ABSENT:
            share = plan.tensors[held.weight]
            found[held.device, share.logical].add(share.region)
    return found


def _crossed(lineages: Lineages, plan: Plan) -> Iterator[Finding]:
    """Inputs taken from another microbatch: harmless only where all microbatches hold the same."""
    bases = lineages.reference.bases
    for device, program in enumerate(plan.programs):
        for call in program:
            taken: dict[int, list[str]] = defaultdict(list)
            for tensor, microbatch in call.taken:
                value = lineages.held[device].get(tensor)
                if value is None or any(bases[share.base].column != NO_COLUMN for share in value):
                    taken[microbatch].append(plan.logicals[plan.tensors[tensor].logical].name)
            for microbatch, names in taken.items():
                inputs = first_of(names, MOST_CROSSED)
                yield Finding(
                    "wrong-input",
                    f"it reads {inputs} of microbatch {microbatch} in microbatch {call.microbatch}",
                    f"segment {plan.segments[call.segment].name} on rank {device}, microbatch {call.microbatch}",
                    help=f"wire it to {inputs} of microbatch {call.microbatch}",
                    extent=len(names),
                    ranks=(device,),
                    kind=("crossed", tuple(map(alike, names))),
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
                    kind=("overwritten", alike(name)),
                )
