"""Single-device values of which elements may be infinite, by the operators that make them."""

from collections.abc import Set

from verdict.graph import ABSENT
from verdict.lineage.reference import Reference
from verdict.ops import FACTS


def infinite_bases(table: Reference) -> Set[int]:
    """Single-device values of which elements may be infinite: symbols of a proof are real numbers."""
    infinite: set[int] = set()
    rising: set[int] = set()
    for partner in table.partners:
        op, attrs = partner.node.op, dict(partner.node.attrs)
        grads = partner.signature.grads
        positions = {k for k, bases in enumerate(partner.inputs) if not infinite.isdisjoint(bases)}
        positions -= partner.meaning.ignored
        if grads and FACTS.is_additive(op):
            positions &= set(range(grads))
        rises = any(not rising.isdisjoint(partner.inputs[k]) for k in positions)
        if FACTS.makes_infinite(op, attrs) or (positions and not FACTS.finite(op, positions, grads, rises)):
            found = {base for base in partner.outputs if base != ABSENT}
            infinite |= found
            rising |= found if rises or FACTS.rises(op, attrs) else set()
    return infinite
