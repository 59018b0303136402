"""Sums in another order than on the single device: of real numbers they are the same. And addends that are zero."""

from math import prod

from verdict.graph import Node, extent
from verdict.lineage.holdings import Holdings
from verdict.lineage.values import Value
from verdict.ops import FACTS
from verdict.ops.types import FLOAT, kind


def as_sum(holdings: Holdings, node: Node, values: tuple[Value, ...]) -> Value | None:
    """What a node adds up of one region, in whatever order; None where nothing on the single device is that sum.

    Integers and truth values wrap around on the way, each type in its own manner.
    """
    shares = [share for value in values for share in value]
    if not FACTS.is_plain_sum(node.op, node.attrs) or not all(values) or len({share[1:] for share in shares}) > 1:
        return None
    if extent(shares[0].region) != holdings.shapes[node.outputs[0]] or shares[0].part:
        return None
    if any(kind(holdings.reference.bases[share.base].dtype) != FLOAT for share in shares):
        return None
    base = holdings.reference.total([share.base for share in shares])
    return (shares[0]._replace(base=base),) if base is not None else holdings.unordered(shares)


def times_zero(holdings: Holdings, node: Node) -> bool:
    """Whether a node makes one number zero, as a rank does that has nothing to add to a norm."""
    return FACTS.zero(node.op, dict(node.attrs)) and prod(holdings.shapes[node.outputs[0]]) == 1
