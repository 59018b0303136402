"""Consecutive steps in one plan: the program of one step again, on what the step before has left.

A weight or state of the optimizer is read as the step before has updated it; a tensor that nothing updates stays. All
else is new in every step: its inputs, its accumulators, which begin at zero, and its seed. Names of step n end in
`.step<n>`. Every step's loss is declared, the gradients of the first and the updated values of the last.
"""

from dataclasses import replace
from typing import NamedTuple

from verdict.backends.generator.layers import KEYS
from verdict.graph import (
    ABSENT,
    ACTIVATION,
    BUFFER,
    WEIGHT,
    Attrs,
    Call,
    Held,
    Logical,
    Node,
    Plan,
    Segment,
    Tensor,
)


class _Step(NamedTuple):
    """What one step reads, makes and leaves. numbers: by the first step's tensors, those of this step."""

    segments: tuple[Segment, ...]
    numbers: dict[int, int]
    updated: dict[tuple[int, int], int]


class _Tables:
    """The logical tensors and tensors of the plan while steps are added to it."""

    def __init__(self, plan: Plan) -> None:
        self.logicals, self.tensors = list(plan.logicals), list(plan.tensors)
        self._numbers: dict[tuple[int, int], int] = {}
        self._attrs: dict[Attrs, Attrs] = {}

    def again(self, tensor: int, step: int) -> int:
        """The tensor that stands for one of the first step."""
        share = self.tensors[tensor]
        self.tensors.append(Tensor(self._logical(share.logical, step), share.region, share.part))
        return len(self.tensors) - 1

    def _logical(self, logical: int, step: int) -> int:
        found = self._numbers.get((logical, step))
        if found is None:
            first = self.logicals[logical]
            found = self._numbers[logical, step] = len(self.logicals)
            kind = ACTIVATION if first.kind in (WEIGHT, BUFFER) else first.kind
            names = (f"{name}.step{step}" for name in (first.name, first.origin))
            name, origin = names
            self.logicals.append(Logical(name, first.shape, first.dtype, kind, origin))
        return found

    def attrs(self, attrs: Attrs, step: int) -> Attrs:
        """Attributes that count steps, counted on; keys of random states moved on."""
        moved = {"step": step - 1, "key": (step - 1) * KEYS}
        found = tuple((name, value + moved[name] if name in moved else value) for name, value in attrs)  # type: ignore[operator]
        return self._attrs.setdefault(found, found)


def consecutive(plan: Plan, steps: int) -> Plan:
    """`steps` steps of a plan that updates its weights, one after the other."""
    if steps == 1:
        return plan
    tables, made = _Tables(plan), {t for segment in plan.segments for node in segment.nodes for t in node.outputs}
    updates = {(held.device, held.weight): held.tensor for held in plan.outputs}
    segments, programs = list(plan.segments), [list(program) for program in plan.programs]
    losses, seeds, outputs = list(plan.losses), list(plan.seeds), plan.outputs
    before = _Step(plan.segments, {}, updates)
    for step in range(2, steps + 1):
        now = _again(plan, tables, before, made, step)
        for program, first in zip(programs, plan.programs, strict=True):
            program += [Call(len(segments) + call.segment, call.microbatch) for call in first]
        segments += now.segments
        losses += [Held(held.device, now.numbers[held.tensor]) for held in plan.losses]
        seeds += [now.numbers[tensor] for tensor in plan.seeds]
        outputs = tuple(Held(held.device, now.numbers[held.tensor], held.weight) for held in plan.outputs)
        before = now
    return replace(
        plan,
        logicals=tuple(tables.logicals),
        tensors=tuple(tables.tensors),
        segments=tuple(segments),
        programs=tuple(map(tuple, programs)),
        losses=tuple(losses),
        seeds=tuple(seeds),
        outputs=outputs,
        batch_axes=tuple(
            (name if step == 1 else f"{name}.step{step}", axis)
            for step in range(1, steps + 1)
            for name, axis in plan.batch_axes
        ),
        shard_axes=_shard_axes(plan, tables, steps),
    )


def _shard_axes(plan: Plan, tables: _Tables, steps: int) -> tuple[tuple[str, int], ...]:
    """Those of every step, of the tensors that it has of its own."""
    known = {logical.name for logical in tables.logicals}
    names = ((f"{name}.step{step}", axis) for step in range(2, steps + 1) for name, axis in plan.shard_axes)
    return (*plan.shard_axes, *(pair for pair in names if pair[0] in known))


def _again(plan: Plan, tables: _Tables, before: _Step, made: set[int], step: int) -> _Step:
    numbers: dict[int, int] = {ABSENT: ABSENT}

    def of(tensor: int, device: int) -> int:
        if (device, tensor) in before.updated and tensor not in made:
            return before.updated[device, tensor]
        if tensor not in made and tensor not in plan.seeds:
            return tensor
        if tensor not in numbers:
            numbers[tensor] = tables.again(tensor, step)
        return numbers[tensor]

    def node(first: Node, device: int) -> Node:
        inputs, outputs = (tuple(of(tensor, device) for tensor in of_node) for of_node in first[1:3])
        return Node(first.op, inputs, outputs, tables.attrs(first.attrs, step), f"{first.name}.step{step}")

    segments = tuple(
        Segment(
            f"{segment.name}.step{step}", segment.device, tuple(node(first, segment.device) for first in segment.nodes)
        )
        for segment in plan.segments
    )
    updated = {(held.device, held.weight): numbers[held.tensor] for held in plan.outputs}
    return _Step(segments, numbers, updated)
