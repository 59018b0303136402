"""Effects: memory that tensors share, asynchronous communication, streams. What a plan may state of them.

- A *storage* is memory of one device in which several of its tensors live, in all microbatches: a static buffer, a flat
  bucket, the target of an operation in place. Whatever is written there overwrites what stood there.
- A communication node with `asynchronous=True` goes on beside what follows it on its stream, until `wait` of what it
  makes, or of what it sends. `y = wait(x)` has the value and the memory of x.
- `stream="name"` on a node puts it on that stream, "main" where it is not said. Streams are ordered by nothing but
  `record() event="e"` on one and a later `await() event="e"` on another.

Values do not depend on effects in a plan without conflicts: `without_effects` is the plan that everything but the check
of effects (verdict/graph/memory.py) looks at.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.graph.plan import COPY, Attrs, Node, Plan, Segment, Storage

WAIT, RECORD, AWAIT = "wait", "record", "await"
ASYNCHRONOUS, STREAM, EVENT = "asynchronous", "stream", "event"
MAIN = "main"
_OPERATORS = frozenset({WAIT, RECORD, AWAIT})
ATTRIBUTES = frozenset({ASYNCHRONOUS, STREAM})
"""Attributes that any node may have, and no operator."""


class Storages(NamedTuple):
    """Where tensors live: the storage of each tensor that is in one, by its place in `Plan.storages`."""

    of: dict[int, int]

    @staticmethod
    def on(plan: Plan, device: int) -> "Storages":
        """The storages of one device."""
        here = (k for k, storage in enumerate(plan.storages) if storage.device == device)
        return Storages({tensor: k for k in here for tensor in plan.storages[k].tensors})


def has_effects(segments: Sequence[Segment], storages: Sequence[Storage]) -> bool:
    """Whether a plan of these segments and storages states effects; a reader keeps it as `Plan.effects`."""
    attrs = {id(node.attrs): node.attrs for segment in segments for node in segment.nodes}
    ops = {node.op for segment in segments for node in segment.nodes}
    return (
        bool(storages)
        or not ops.isdisjoint(_OPERATORS)
        or any(name in ATTRIBUTES for one in attrs.values() for name, _ in one)
    )


def without_effects(plan: Plan) -> Plan:
    """The plan without storages, streams and asynchrony: a wait copies, records and awaits are gone."""
    if not plan.effects:
        return plan
    segments = tuple(
        segment._replace(nodes=tuple(_pure(node) for node in segment.nodes if not _only_orders(node)))
        for segment in plan.segments
    )
    return replace(plan, segments=segments, storages=(), effects=False)


def _only_orders(node: Node) -> bool:
    return node.op in (RECORD, AWAIT) or (node.op == WAIT and not node.outputs)


def _pure(node: Node) -> Node:
    attrs: Attrs = tuple(pair for pair in node.attrs if pair[0] not in ATTRIBUTES)
    return node._replace(op=COPY if node.op == WAIT else node.op, attrs=attrs)
