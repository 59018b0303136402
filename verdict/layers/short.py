"""A plan of which some of the inner layers are left out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple

import numpy as np

from verdict.graph import ABSENT, GIVEN, Held, Node, Plan
from verdict.layers.flows import Flow, Numbers
from verdict.layers.stack import OUTSIDE, Flags, Stack

KEPT = 8
"""How many layers are kept: the first and the last one, which may read otherwise, and six between them, so that three
beside each other, over which an island may reach, come again twice.
"""
FIRST = KEPT // 2
"""The first layer that is left out: as many are kept before those as behind them."""


class Short(NamedTuple):
    """A plan of which some layers are left out. tensors, logicals: of each of its own that of the whole plan which it
    is. layer, row: of each of its tensors, in which of the layers that are kept it is, and in which row; OUTSIDE for
    none. stack: of the whole plan.
    """

    plan: Plan
    tensors: Numbers
    logicals: tuple[int, ...]
    layer: Numbers
    row: Numbers
    stack: Stack


def shortened(plan: Plan, flows: Sequence[Flow], stack: Stack) -> Short:
    """The plan without some inner layers: what reads of one that is left out reads of the next one that is not."""
    kept = _Kept(stack)
    segments = list(plan.segments)
    for flow, layers in zip(flows, stack.node_layer, strict=True):
        stays, at = ~kept.is_left_out(layers), 0
        for number in flow.segments:
            nodes = plan.segments[number].nodes
            here = slice(at, at + len(nodes))
            few = compress(zip(nodes, layers[here].tolist(), strict=True), stays[here].tolist())
            segments[number] = segments[number]._replace(nodes=tuple(kept.node(node, layer) for node, layer in few))
            at += len(nodes)
    losses, gradients, outputs = (tuple(kept.held(each)) for each in (plan.losses, plan.gradients, plan.outputs))
    seeds = tuple(kept.tensor(tensor, OUTSIDE) for tensor in plan.seeds)
    short = replace(plan, segments=tuple(segments), losses=losses, gradients=gradients, outputs=outputs, seeds=seeds)
    tensors = np.array([*kept.numbers], dtype=np.int64)
    layer = stack.layer[tensors]
    layer = np.where(layer >= kept.stop, layer - (kept.stop - FIRST), layer)
    named, logicals = _named(short, tensors.tolist(), stack)
    return Short(named, tensors, logicals, layer, stack.row[tensors], stack)


class _Kept:
    """Tensors of the layers that are kept, numbered as they are met. stop: the first layer behind those left out."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.stop = stack, stack.layers - (KEPT - FIRST)
        self.numbers: dict[int, int] = {}

    def is_left_out(self, layers: Numbers) -> Flags:
        """Which layers are left out."""
        return (layers >= FIRST) & (layers < self.stop)

    def tensor(self, tensor: int, by: int) -> int:
        """The number of what a node of layer `by` reads or makes: of a layer that is left out, that of the next one."""
        if tensor == ABSENT:
            return ABSENT
        if FIRST <= self.stack.layer[tensor] < self.stop:
            tensor = int(self.stack.grid[self.stack.row[tensor], FIRST - 1 if by >= self.stop else self.stop])
        return self.numbers.setdefault(tensor, len(self.numbers))

    def node(self, node: Node, layer: int) -> Node:
        """A node of a layer, or of none: that adds up all layers adds up those that are kept."""
        reads = node.inputs
        if layer == OUTSIDE:
            reads = tuple(t for t in reads if t == ABSENT or not FIRST <= self.stack.layer[t] < self.stop)
        inputs = tuple(self.tensor(tensor, layer) for tensor in reads)
        return node._replace(inputs=inputs, outputs=tuple(self.tensor(tensor, layer) for tensor in node.outputs))

    def held(self, declared: Iterable[Held]) -> Iterator[Held]:
        """What is declared of layers that are kept, and of none."""
        for one in declared:
            layer = int(self.stack.layer[one.tensor])
            if not FIRST <= layer < self.stop:
                yield one._replace(tensor=self.tensor(one.tensor, layer), weight=self.tensor(one.weight, layer))


def _named(plan: Plan, kept: Sequence[int], stack: Stack) -> tuple[Plan, tuple[int, ...]]:
    """The plan with these tensors alone, and those logical tensors that they are shares of, or that are given and no
    layer's, whose numbers are told: what one plan does not read may be read in the other one.
    """
    logicals: dict[int, int] = {}
    tensors = []
    for tensor in map(plan.tensors.__getitem__, kept):
        tensors.append(tensor._replace(logical=logicals.setdefault(tensor.logical, len(logicals))))
    layered = {plan.tensors[tensor].logical for tensor in stack.grid.ravel().tolist()}
    for number, logical in enumerate(plan.logicals):
        if logical.kind in GIVEN and number not in layered:
            logicals.setdefault(number, len(logicals))
    of = tuple(plan.logicals[logical] for logical in logicals)
    names = {logical.name for logical in of}
    short = replace(
        plan,
        logicals=of,
        tensors=tuple(tensors),
        batch_axes=tuple(one for one in plan.batch_axes if one[0] in names),
        shard_axes=tuple(one for one in plan.shard_axes if one[0] in names),
        ranges=tuple(one for one in plan.ranges if one[0] in names),
        doubtful=tuple(name for name in plan.doubtful if name in names),
        lines=(),
    )
    return short, tuple(logicals)
