"""Flows: the program of each device as one straight line of nodes, and what each node looks like."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verdict.graph import ABSENT, ONCE_A_STEP, Node, Plan
from verdict.graph.lockstep import COMMUNICATION

Numbers = NDArray[np.int64]
CHANNEL = "channel"
"""The attribute of a message that names it for people: messages are received in the order in which they are sent."""


class Flow(NamedTuple):
    """The nodes of a device in their order, each once. segments: those that they stand in, in this order.

    tokens: one number for all nodes that look alike. reads, makes: tensors, node after node; those of node k stand from
    `read_from[k]` on, and from `made_from[k]` on.
    """

    segments: tuple[int, ...]
    nodes: tuple[Node, ...]
    tokens: Numbers
    reads: Numbers
    read_from: Numbers
    makes: Numbers
    made_from: Numbers


def flows_of(plan: Plan, microbatch: int) -> list[Flow] | None:
    """The flow of each device for one microbatch, where each segment runs once and none takes what another one made;
    None elsewhere.
    """
    look = _Look(plan)
    flows = []
    for program in plan.programs:
        calls = [call for call in program if call.microbatch in (microbatch, ONCE_A_STEP)]
        segments = tuple(call.segment for call in calls)
        if len(set(segments)) < len(segments) or any(call.crossed for call in calls):
            return None
        flows.append(_flow(plan, segments, look))
    run = sum(len(flow.segments) for flow in flows)
    return flows if run == len(plan.segments) else None


def _flow(plan: Plan, segments: tuple[int, ...], look: "_Look") -> Flow:
    nodes = tuple(chain.from_iterable(plan.segments[segment].nodes for segment in segments))
    tokens = np.array([look.of(node) for node in nodes], dtype=np.int64)
    return Flow(segments, nodes, tokens, *_flat([n.inputs for n in nodes]), *_flat([n.outputs for n in nodes]))


def _flat(tensors: Sequence[tuple[int, ...]]) -> tuple[Numbers, Numbers]:
    sizes = np.fromiter(map(len, tensors), dtype=np.int64, count=len(tensors))
    begins = np.concatenate(([0], np.cumsum(sizes)))
    return np.fromiter(chain.from_iterable(tensors), dtype=np.int64, count=int(begins[-1])), begins


class _Look:
    """Numbers for what nodes look like: operator, attributes, and of each tensor all that the plan says of it but which
    one it is.
    """

    def __init__(self, plan: Plan) -> None:
        self.tensors = _formats(plan)
        self.attrs: dict[int, int] = {}
        self.texts: dict[str, int] = {}
        self.known: dict[tuple[Any, ...], int] = {}

    def of(self, node: Node) -> int:
        of = self.tensors
        attrs = self._attrs(node)
        key = node.op, attrs, tuple([of[t] for t in node.inputs]), tuple([of[t] for t in node.outputs])
        return self.known.setdefault(key, len(self.known))

    def _attrs(self, node: Node) -> int:
        """Attributes are told by how they are written: 1, 1.0 and True are equal."""
        found = self.attrs.get(id(node.attrs))
        if found is None:
            attrs = node.attrs
            if node.op in COMMUNICATION:
                attrs = tuple(one for one in attrs if one[0] != CHANNEL)
            found = self.attrs[id(node.attrs)] = self.texts.setdefault(repr(attrs), len(self.texts))
        return found


def _formats(plan: Plan) -> list[int]:
    """Of each tensor a number of what the plan says of it, but for names; at last, where ABSENT points to, none."""
    shards, batch = dict(plan.shard_axes), dict(plan.batch_axes)
    ranges = {name: bounds for name, *bounds in plan.ranges}
    logicals: dict[tuple[Any, ...], int] = {}
    of = []
    for logical in plan.logicals:
        name = logical.name
        said = shards.get(name), batch.get(name), tuple(ranges.get(name, ())), name in plan.doubtful
        of.append(logicals.setdefault((logical.shape, logical.dtype, logical.kind, *said), len(logicals)))
    known: dict[tuple[Any, ...], int] = {}
    found = [known.setdefault((of[one.logical], one.region, one.part), len(known)) for one in plan.tensors]
    return [*found, ABSENT]
