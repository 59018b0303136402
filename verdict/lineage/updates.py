"""Declared outputs against what they must be: updated weights and states, and further ones, found by origin or name."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set

from verdict.graph import ABSENT, ONCE_A_STEP, WEIGHT, Held, Place, Plan, Region, contains, shard_axes, times
from verdict.lineage.binding import Binding
from verdict.lineage.columns import NO_COLUMN, SUMMED
from verdict.lineage.compare import difference, incomplete
from verdict.lineage.cover import covers
from verdict.lineage.lineages import End, Evidence, Gap, Lineages
from verdict.lineage.reference import Bases, Reference
from verdict.lineage.shards import Stated, stated, stated_end, together
from verdict.outcome import Finding

Key = tuple[bool, int]
"""Whether it is of a weight or buffer, and the logical tensor of the single-device plan: of it, or else of itself."""


def updates(reference: Reference) -> dict[int, Bases]:
    """For each weight or buffer of the single-device plan whose update it declares, what that is."""
    return {index: bases for (of_weight, index), bases in _due(reference).items() if of_weight}


def check_updates(lineages: Lineages, plan: Plan, binding: Binding, own: Sequence[Set[int]]) -> Iterator[Finding]:
    """Outputs that hold something else than the single-device plan's, and those that nobody holds.

    own: what the nodes of each device make.
    """
    reference = lineages.reference
    due = _due(reference)
    regions: dict[Key, set[Region]] = defaultdict(set)
    divided = shard_axes(plan)
    for end in _outputs(lineages, plan):
        key, must = _key(reference, plan, binding, end.held), _must(plan, divided, end.held)
        if key not in due or must is None:
            continue
        regions[key].add(together(must, plan.replicas))
        if end.value is None or _undecided(reference, plan, divided, end, due[key]):
            continue
        found = difference(end.value, due[key], must.region, reference.bases, must.shard)
        found = found or incomplete(end.value, reference.bases, plan)
        if found is not None:
            where = f"{_named(plan, end.held)} on rank {end.held.device}"
            place = Place(end.held.device, ONCE_A_STEP, where, "output")
            about = Evidence((place,), (end.held.tensor,), end.value, due[key], must.region, shard=must.shard)
            yield Finding(found.code, found.text, where, evidence=about)
    for key, bases in due.items():
        if bases and not covers(regions[key], reference.column_shape(bases[0])):
            name = reference.plan.logicals[key[1]].name
            what = "all" if not regions[key] else "a part"
            yield Finding("output-missing", f"no rank holds {what} of {_words(key[0], name)}", f"output {name}")
    yield from _undeclared(lineages, plan, binding, {index for of_weight, index in due if of_weight}, own)


def open_updates(lineages: Lineages, plan: Plan, binding: Binding) -> Iterator[Gap]:
    """Outputs of which nothing is said: with nothing to compare them with, or of single columns of the batch."""
    reference, divided = lineages.reference, shard_axes(plan)
    due = _due(reference)
    if len(due) < len(reference.plan.outputs):
        yield Gap("the single-device plan declares an output twice", Place(0, ONCE_A_STEP, "the end", "output"))
    for key, bases in due.items():
        if not bases:
            name = _words(key[0], reference.plan.logicals[key[1]].name)
            yield Gap(f"{name} is zero whatever the values are", Place(0, ONCE_A_STEP, "the end of the step", "output"))
    for end in _outputs(lineages, plan):
        of = _key(reference, plan, binding, end.held)
        problem = _undecided(reference, plan, divided, end, due[of]) if of in due else "has no counterpart"
        if problem:
            place = Place(end.held.device, ONCE_A_STEP, "the end of the step", "output")
            yield Gap(f"{_named(plan, end.held)} {problem}", place)


def _due(reference: Reference) -> dict[Key, Bases]:
    """Everything that the single-device plan declares besides losses and gradients."""
    plan = reference.plan
    return {
        (held.weight != ABSENT, _logical(plan, held)): reference.values.get(held.tensor, ()) for held in plan.outputs
    }


def _logical(plan: Plan, held: Held) -> int:
    return plan.tensors[held.tensor if held.weight == ABSENT else held.weight].logical


def _outputs(lineages: Lineages, plan: Plan) -> tuple[End, ...]:
    return lineages.ends[len(plan.losses) + len(plan.gradients) :]


def _key(reference: Reference, plan: Plan, binding: Binding, held: Held) -> Key | None:
    """Which of the single-device plan's outputs a declared output is a share of."""
    logical = _logical(plan, held)
    if held.weight != ABSENT:
        return (True, binding.logical[logical]) if logical in binding.logical else None
    single, own = reference.plan, plan.logicals[logical]
    others = [_logical(single, other) for other in single.outputs if other.weight == ABSENT]
    hints = (
        *(k for k in others if own.origin is not None and single.logicals[k].origin == own.origin),
        *(k for k in others if single.logicals[k].name == own.name),
    )
    return (False, hints[0]) if hints else None


def _must(plan: Plan, divided: Mapping[int, int], held: Held) -> Stated | None:
    """The region of the single-device output that a declared output must hold; None where there is no even one."""
    return stated(plan, divided, held.tensor) if held.weight == ABSENT else stated_end(plan, divided, held)


def _undecided(reference: Reference, plan: Plan, divided: Mapping[int, int], end: End, due: Bases) -> str:
    """Why nothing is said of an output of which it is known what it holds; empty where something is."""
    columns = {reference.bases[base].column for base in due}
    held = end.held
    if columns <= {NO_COLUMN, SUMMED}:
        if held.weight == ABSENT and due and _shape(plan, divided, held) != reference.column_shape(due[0]):
            return "has another shape than the single-device output"
        return ""
    if held.weight != ABSENT:
        return "depends on the column of the batch"
    if plan.microbatches > 1:
        return "is one of each microbatch"
    same = _shape(plan, divided, held) == reference.column_shape(due[0])
    return "" if same else "is no column of the single-device output"


def _shape(plan: Plan, divided: Mapping[int, int], held: Held) -> tuple[int, ...]:
    logical = plan.tensors[held.tensor].logical
    axis, shape = divided.get(logical), plan.logicals[logical].shape
    return shape if axis is None else times(shape, axis, plan.replicas)


def _undeclared(
    lineages: Lineages, plan: Plan, binding: Binding, updated: Set[int], own: Sequence[Set[int]]
) -> Iterator[Finding]:
    """Weights that a rank computes with and whose update it does not declare, though the single-device plan does.

    Of a weight that each replica has whole, each declares all that is new.
    """
    new: Mapping[tuple[int, int], list[Region]] = defaultdict(list)
    divided = shard_axes(plan)
    for held in plan.outputs:
        if held.weight == ABSENT:
            continue
        of_shard = plan.tensors[held.tensor].logical in divided
        if not of_shard or plan.tensors[held.weight].logical in divided:
            new[held.device, plan.tensors[held.weight].logical].append(plan.tensors[held.weight].region)
    for device, held_here in enumerate(lineages.held):
        for tensor in held_here:
            share = plan.tensors[tensor]
            if (
                plan.kind(tensor) != WEIGHT
                or tensor in own[device]
                or binding.logical.get(share.logical) not in updated
            ):
                continue
            if not any(contains(region, share.region) for region in new[device, share.logical]):
                name = plan.logicals[share.logical].name
                title = f"rank {device} uses {name} and does not say its updated value"
                yield Finding("output-missing", title, f"the updated {name} on rank {device}")


def _named(plan: Plan, held: Held) -> str:
    return _words(held.weight != ABSENT, plan.logicals[_logical(plan, held)].name)


def _words(of_weight: bool, name: str) -> str:
    return f"the updated {name}" if of_weight else f"the output {name}"
