"""Cut points at declared outputs of which nothing is known: guessed is what they must be."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from verdict.graph import ABSENT, Plan, Region, extent
from verdict.lineage.binding import Binding
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.judged import Judged, judge
from verdict.lineage.lineages import End, Lineages
from verdict.lineage.reference import Reference
from verdict.lineage.values import Label, Share, Value

Addend = tuple[int, Region, tuple[int, int]]
"""A part of a sum that is declared: of which logical tensor, which region of it, which part of how many."""


def guessed_ends(walk: Lineages, plan: Plan, binding: Binding) -> Lineages:
    """A walk with cut points at declared outputs of which nothing is known.

    The addends of a sum are cut points together: of none of them it is said what it is, but what they add up to. What
    is declared to be several things is left open.
    """
    cuts, held, ends = dict(walk.cuts), [dict(found) for found in walk.held], list(walk.ends)
    holders = Counter(_addend(plan, held.tensor) for held in plan.declared)
    for one in judge(walk, plan, binding):
        device, tensor = one.held.device, one.held.tensor
        value = _due(one, plan, walk.reference, holders)
        if value is None or cuts.setdefault((device, tensor), value) != value:
            continue
        if not value[0].part:
            held[device][tensor] = value
        ends[one.number] = End(one.held, tuple(share._replace(part=()) for share in value))
    return replace(walk, cuts=cuts, held=tuple(held), ends=tuple(ends))


def _due(one: Judged, plan: Plan, reference: Reference, holders: Mapping[Addend, int]) -> Value | None:
    """What a declared output must hold, of which nothing is known, or only of what part of a node's inputs it is made;
    None where nothing is guessed of it.
    """
    known = one.value is not None and not any(share.part for share in one.value)
    if known or one.right or one.must is None or one.must.shard or not one.due:
        return None
    tensor = plan.tensors[one.held.tensor]
    bases = [reference.bases[base] for base in one.due]
    later = one.number >= len(plan.losses) and plan.columns > 1 and any(base.column != NO_COLUMN for base in bases)
    if later or extent(one.must.region) != extent(tensor.region):
        return None
    part, parts = tensor.part
    if parts == 1:
        return tuple(Share(base, one.must.region) for base in one.due)
    every = [(tensor.logical, tensor.region, (k, parts)) for k in range(parts)]
    if any(addend not in holders for addend in every):
        return None
    label = Label(ABSENT, tensor.logical, "addends", parts)
    return tuple(Share(base, one.must.region, ((label, (part, part + 1)),)) for base in one.due)


def _addend(plan: Plan, tensor: int) -> Addend:
    of = plan.tensors[tensor]
    return of.logical, of.region, of.part
