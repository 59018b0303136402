"""What patterns have in common: dimensions of their own, and where coordinates are at reduced shapes."""

from collections.abc import Sequence

from verdict.graph import Shape
from verdict.ops.rule import Atom, Dim, Scale

HALVES = 2
"""The fewest elements that a part of an axis keeps, so that its order shows."""


def named(prefix: str, shape: Shape, keep: Sequence[int] = ()) -> tuple[list[Atom], list[Dim]]:
    """An atom for each dimension; those at `keep` stay whole."""
    atoms = [Atom(f"{prefix}{k}", size, least=size if k in keep else 1) for k, size in enumerate(shape)]
    return atoms, [(atom.name,) for atom in atoms]


def at(scale: Scale, atom: str, coordinate: int) -> int:
    """Where a cut of an atom is at reduced shapes; what is none, or of an atom of size one, stays where it is."""
    return scale.points.get(atom, {}).get(coordinate, coordinate)
