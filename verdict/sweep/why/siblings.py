"""Nodes that match: those of one operator and name on all ranks and in all microbatches; and groups of ranks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import NamedTuple

from verdict.graph import ONCE_A_STEP, Plan
from verdict.graph.lockstep import attribute
from verdict.sweep.flow import Flow

Instance = tuple[int, int]
"""A rank and a microbatch."""
Kind = tuple[str, str, int]
"""Operator, name and number of inputs of a step."""
Partition = tuple[tuple[Instance, ...], ...]
MOST_PARTITIONS = 64
"""How many groupings are tried, those of the smallest groups."""


class Siblings(NamedTuple):
    """Matching steps. arity: how many inputs each has. steps: by rank and microbatch."""

    op: str
    name: str
    arity: int
    steps: Mapping[Instance, int]

    @property
    def kind(self) -> Kind:
        """What steps have in common that match."""
        return self.op, self.name, self.arity

    @property
    def first(self) -> int:
        """The earliest step."""
        return min(self.steps.values())


def siblings_of(flow: Flow) -> tuple[Siblings, ...]:
    """All steps of a flow, those that match together; equal names are told apart by their order."""
    counts: Counter[tuple[Kind, Instance]] = Counter()
    found: dict[tuple[Kind, int], dict[Instance, int]] = {}
    for number, step in enumerate(flow.steps):
        at = (step.place.rank, step.place.microbatch)
        kind = (step.op, step.place.name, len(step.inputs))
        occurrence = counts[kind, at]
        counts[kind, at] += 1
        found.setdefault((kind, occurrence), {})[at] = number
    classes = [Siblings(*kind, steps) for (kind, _), steps in found.items()]
    return tuple(sorted(classes, key=lambda one: one.first))


def repeated_of(classes: Sequence[Siblings]) -> tuple[Siblings, ...]:
    """What stands in one line of a program and runs several times in one microbatch, all runs together: a loop over
    microbatches. A run takes the place of the microbatch.
    """
    runs: Counter[Kind] = Counter()
    together: dict[Kind, dict[Instance, int]] = {}
    for one in classes:
        if len({microbatch for _, microbatch in one.steps}) == 1:
            run = runs[one.kind]
            runs[one.kind] += 1
            found = {(rank, run): number for (rank, _), number in one.steps.items()}
            together.setdefault(one.kind, {}).update(found)
    several = [Siblings(*kind, steps) for kind, steps in together.items() if runs[kind] > 1]
    return tuple(sorted(several, key=lambda one: one.first))


def partitions_of(plan: Plan, instances: Sequence[Instance]) -> tuple[Partition, ...]:
    """How instances may be grouped: along axes of the mesh, by the groups of collectives, in runs and in strides,
    each for one microbatch and for all. Small groups first.
    """
    ranks = range(plan.ranks)
    labelings = dict.fromkeys((*_mesh(plan), *_collectives(plan), *_regular(plan.ranks)))
    found: dict[Partition, None] = {}
    microbatches = {microbatch for _, microbatch in instances} - {ONCE_A_STEP}
    for together in (False, True) if len(microbatches) > 1 else (False,):
        for labels in [tuple(ranks), *labelings] if together else labelings:
            groups: dict[tuple[int, int], list[Instance]] = {}
            for rank, microbatch in instances:
                groups.setdefault((labels[rank], -2 if together else microbatch), []).append((rank, microbatch))
            found[tuple(tuple(group) for group in groups.values())] = None
    ordered = sorted(found, key=lambda groups: max(map(len, groups), default=0))
    return tuple(ordered[:MOST_PARTITIONS])


def _mesh(plan: Plan) -> Iterator[tuple[int, ...]]:
    """Labels of ranks: equal ones are a group along some axes of the mesh."""
    sizes = [size for _, size in plan.mesh]
    if not sizes or prod(sizes) != plan.ranks or len(sizes) > 5:
        return
    strides = [prod(sizes[k + 1 :]) for k in range(len(sizes))]
    axes = [k for k, size in enumerate(sizes) if size > 1]
    for count in range(1, len(axes) + 1):
        for among in combinations(axes, count):
            yield tuple(
                sum(rank // strides[k] % sizes[k] * strides[k] for k in range(len(sizes)) if k not in among)
                for rank in range(plan.ranks)
            )


def _collectives(plan: Plan) -> Iterator[tuple[int, ...]]:
    """For each set of groups that collectives of one size have."""
    by_size: dict[int, dict[tuple[int, ...], None]] = {}
    for segment in plan.segments:
        for node in segment.nodes:
            ranks = attribute(node, "ranks")
            if ranks and not attribute(node, "replicas"):
                by_size.setdefault(len(ranks), {})[tuple(ranks)] = None
    for groups in by_size.values():
        labels = list(range(plan.ranks))
        for group in groups:
            for start in range(0, plan.ranks, plan.devices):
                for device in group:
                    if device < plan.devices:
                        labels[start + device] = start + min(group)
        yield tuple(labels)


def _regular(ranks: int) -> Iterator[tuple[int, ...]]:
    """Runs and strides of every size that divides the number of ranks."""
    for size in range(2, ranks + 1):
        if ranks % size == 0:
            yield tuple(rank // size for rank in range(ranks))
            yield tuple(rank % (ranks // size) for rank in range(ranks))
