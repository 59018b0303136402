"""Values of which two regions may hold the same: that a device has one of them says nothing about which one it is."""

from math import prod

from verdict.graph import ABSENT, INPUT
from verdict.lineage.reference import Reference
from verdict.ops import FACTS
from verdict.ops.orders import picking


def alike_bases(table: Reference) -> frozenset[int]:
    """What is computed from nothing but shapes, what repeats what it reads, and what is computed from such, from
    weights and from buffers alone: of rows that are alike it makes rows that are alike.
    """
    kinds = {logical.name: logical.kind for logical in table.plan.logicals}
    still = {k for k, base in enumerate(table.bases) if base.node < 0 and kinds.get(base.logical) != INPUT}
    fixed: set[int] = set()
    repeated: set[int] = set()
    for partner in table.partners:
        node, read = partner.node, partner.read
        made = [base for base in partner.outputs if base != ABSENT]
        if FACTS.random(node.op):
            continue
        if still.issuperset(read):
            still.update(made)
        if fixed.issuperset(read):
            fixed.update(made)
        if not repeated.isdisjoint(read) and (still | repeated).issuperset(read):
            repeated.update(made)
        elif fixed.issuperset(read) or FACTS.moves(node.op, len(partner.inputs)):
            size = sum(prod(table.bases[base].shape) for base in read)
            repeated.update(base for base in made if prod(table.bases[base].shape) > max(size, 1))
    return frozenset(fixed | repeated)


def picked_bases(table: Reference) -> frozenset[int]:
    """What is picked from what depends on nothing, and what only moves that: no such value may be any real numbers, so
    that more is known of what is computed from it, as of the sum of a mask that an order permutes.
    """
    fixed: set[int] = set()
    picked: set[int] = set()
    for partner in table.partners:
        node, made = partner.node, [base for base in partner.outputs if base != ABSENT]
        if fixed.issuperset(partner.read) and not FACTS.random(node.op):
            fixed.update(made)
        first = partner.inputs[0] if partner.inputs else ()
        of_fixed = picking(node.op, dict(node.attrs)) is not None and fixed.issuperset(first)
        if of_fixed or (picked.issuperset(partner.read) and FACTS.moves(node.op, len(partner.inputs))):
            picked.update(made)
    return frozenset(picked - fixed)
