"""Pieces of a value: one that a rank takes of it, and several side by side, as of what it is given in pieces."""

from typing import Any

from verdict.graph import GRAD, NARROW, Node
from verdict.lineage.values import Value, concatenate, piece
from verdict.ops import FACTS


def as_pieces(node: Node, values: tuple[Value, ...]) -> Value | None:
    """What a node makes that takes a piece of a value, or puts pieces side by side which lie so in one value; None
    where it does something else.
    """
    shares = [share for value in values for share in value]
    axes = {len(share.region) for share in shares}
    if not all(values) or any(share.shard for share in shares) or len(axes) != 1 or 0 in axes:
        return None
    rule, attrs = FACTS.of(node.op), dict[str, Any](node.attrs)
    if node.op == NARROW:
        start = attrs["start"]
        return piece(values[0], attrs["dim"] % len(shares[0].region), (start, start + attrs["length"]))
    if rule is None or not rule.joins or node.op.endswith(GRAD):
        return None
    return concatenate(values, attrs.get("dim", 0) % len(shares[0].region))
