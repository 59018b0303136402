"""Declared outputs that are neither losses nor gradients: updated weights and states, and others by origin or name."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence, Set

from verdict.graph import ABSENT, ONCE_A_STEP, WEIGHT, Held, Logical, Place, Plan, Region, contains, shard_axes, times
from verdict.graph.names import alike
from verdict.lineage.binding import Binding
from verdict.lineage.lineages import Gap, Lineages
from verdict.lineage.reference import Bases, Reference
from verdict.outcome import Finding

Key = tuple[bool, int]
"""Whether it is of a weight or buffer, and the logical tensor of the single-device plan: of it, or else of itself."""
Hint = tuple[str, Hashable]
"""What two plans may call one output by: "origin" or "name", and that."""


def updates(reference: Reference) -> dict[int, Bases]:
    """For each weight or buffer of the single-device plan whose update it declares, what that is."""
    return {index: bases for (of_weight, index), bases in updates_due(reference).items() if of_weight}


def check_updates(lineages: Lineages, plan: Plan, binding: Binding, own: Sequence[Set[int]]) -> Iterator[Finding]:
    """Weights whose update the single-device plan declares, and a rank that computes with them does not.

    own: what the nodes of each device make.
    """
    updated = {index for of_weight, index in updates_due(lineages.reference) if of_weight}
    yield from _undeclared(lineages, plan, binding, updated, own)


def open_updates(lineages: Lineages) -> Iterator[Gap]:
    """Outputs of the single-device plan with which nothing can be compared."""
    reference = lineages.reference
    due = updates_due(reference)
    if len(due) < len(reference.plan.outputs):
        yield Gap("the single-device plan declares an output twice", Place(0, ONCE_A_STEP, "the end", "output"))
    for key, bases in due.items():
        if not bases:
            name = in_words(key[0], reference.plan.logicals[key[1]].name)
            yield Gap(f"{name} is zero whatever the values are", Place(0, ONCE_A_STEP, "the end of the step", "output"))


def updates_due(reference: Reference) -> dict[Key, Bases]:
    """Everything that the single-device plan declares besides losses and gradients."""
    plan = reference.plan
    return {
        (held.weight != ABSENT, _logical(plan, held)): reference.values.get(held.tensor, ()) for held in plan.outputs
    }


def _logical(plan: Plan, held: Held) -> int:
    return plan.tensors[held.tensor if held.weight == ABSENT else held.weight].logical


def hinted(plan: Plan) -> dict[Hint, int]:
    """The single-device plan's outputs of no weight, by their origins and by their names: the first of each."""
    others = [_logical(plan, held) for held in plan.outputs if held.weight == ABSENT]
    return {hint: k for k in reversed(others) for hint in _hints(plan.logicals[k])}


def key_of(plan: Plan, binding: Binding, hints: Mapping[Hint, int], held: Held) -> Key | None:
    """Which of the single-device plan's outputs a declared output is a share of. hints: as `hinted` tells."""
    logical = _logical(plan, held)
    if held.weight != ABSENT:
        return (True, binding.logical[logical]) if logical in binding.logical else None
    found = next((hints[hint] for hint in _hints(plan.logicals[logical]) if hint in hints), None)
    return None if found is None else (False, found)


def _hints(logical: Logical) -> tuple[Hint, ...]:
    """By what an output is found, the surest first."""
    by_name = ("name", logical.name)
    return (by_name,) if logical.origin is None else (("origin", logical.origin), by_name)


def shape_of(plan: Plan, divided: Mapping[int, int], held: Held) -> tuple[int, ...]:
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
    kinds = plan.kinds
    for device, held_here in enumerate(lineages.held):
        for tensor in held_here:
            if kinds[tensor] != WEIGHT or tensor in own[device]:
                continue
            share = plan.tensors[tensor]
            if binding.logical.get(share.logical) not in updated:
                continue
            if not any(contains(region, share.region) for region in new[device, share.logical]):
                name = plan.logicals[share.logical].name
                title = f"rank {device} uses {name} and does not say its updated value"
                yield Finding("output-missing", title, f"the updated {name} on rank {device}", kind=alike(name))


def named(plan: Plan, held: Held) -> str:
    return in_words(held.weight != ABSENT, plan.logicals[_logical(plan, held)].name)


def in_words(of_weight: bool, name: str) -> str:
    return f"the updated {name}" if of_weight else f"the output {name}"
