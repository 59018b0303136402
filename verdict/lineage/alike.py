"""Values of which two regions may hold the same: that a device has one of them says nothing about which one it is."""

from math import prod

from verdict.graph import ABSENT
from verdict.lineage.reference import Reference
from verdict.ops import FACTS


def alike_bases(table: Reference) -> frozenset[int]:
    """What is computed from nothing, and what repeats what it reads."""
    fixed: set[int] = set()
    repeated: set[int] = set()
    for node, inputs, outputs, _ in table.partners:
        made = [base for base in outputs if base != ABSENT]
        read = [base for bases in inputs for base in bases]
        if fixed.issuperset(read) and not FACTS.random(node.op):
            fixed.update(made)
        elif FACTS.moves(node.op, len(inputs)):
            size = sum(prod(table.bases[base].shape) for base in read)
            repeated.update(base for base in made if prod(table.bases[base].shape) > size)
    return frozenset(fixed | repeated)
