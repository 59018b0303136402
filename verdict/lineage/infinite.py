"""Single-device values of which elements may be infinite, by the operators that make them."""

from collections.abc import Set
from typing import NamedTuple

from verdict.graph import ABSENT
from verdict.lineage.reference import Partner, Reference
from verdict.ops import FACTS
from verdict.ops.signs import compares, keeps_places
from verdict.ops.types import FLOAT, kind


class Infinite(NamedTuple):
    """Values of which elements may be infinite.

    by_data: those of them where data says which elements are. hidden: values that count as numbers and may be none: the
    softmax of a row that data has masked as a whole.
    """

    values: Set[int]
    by_data: Set[int]
    hidden: Set[int]


def infinite_bases(table: Reference) -> Set[int]:
    """Single-device values of which elements may be infinite: symbols of a proof are real numbers."""
    return infinite(table).values


def infinite(table: Reference) -> Infinite:
    """What may be infinite of the single-device values, and why. What a node counts is none of what it reads first."""
    values, rising, by_data, hidden, fixed = set[int](), set[int](), set[int](), set[int](), set[int]()
    for partner in table.partners:
        op, attrs = partner.node.op, dict(partner.node.attrs)
        grads = partner.signature.grads
        positions = {k for k, bases in enumerate(partner.inputs) if not values.isdisjoint(bases)}
        positions -= partner.meaning.ignored
        if grads and FACTS.is_additive(op):
            positions &= set(range(grads))
        rises = any(not rising.isdisjoint(partner.inputs[k]) for k in positions)
        counts = FACTS.counted(op) if positions == {0} else ()
        found = {base for k, base in enumerate(partner.outputs) if base != ABSENT and k not in counts}
        known, makes = is_fixed(partner, fixed), FACTS.makes_infinite(op, attrs)
        chosen = _is_chosen(table, partner, fixed) or any(not by_data.isdisjoint(partner.inputs[k]) for k in positions)
        if makes or (positions and not FACTS.finite(op, positions, grads, rises)):
            values |= found
            rising |= found if rises or FACTS.rises(op, attrs) else set()
            computed = not known and not keeps_places(op, makes)
            by_data |= found if chosen or computed else set()
        elif positions and chosen and not compares(op):
            hidden |= found
        fixed |= found if known else set()
    return Infinite(values, by_data, hidden)


def is_fixed(partner: Partner, fixed: Set[int]) -> bool:
    """Whether a node computes something from nothing, or from what is so computed: wherever it is read, it is known."""
    return not FACTS.random(partner.node.op) and all(base in fixed for base in partner.read)


def _is_chosen(table: Reference, partner: Partner, fixed: Set[int]) -> bool:
    """Whether a node reads integers or truth values that are not known: places that are masked, or looked up."""
    return any(base not in fixed and kind(table.bases[base].dtype) != FLOAT for base in partner.read)
