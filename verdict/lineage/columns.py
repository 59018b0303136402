"""How one column of the batch runs through an operator.

The parallel plan works on columns: each (replica, microbatch) takes an equal slice of the batch. Here one
operator of the single-device plan is asked what a column of its inputs makes of its outputs: a slice of
them, a summand of them, or, where no law is known, a reason why a column cannot be looked at by itself.
"""

from collections.abc import Sequence
from typing import NamedTuple

from verdict.ops import Axes, Dim, Law

NO_COLUMN, SUMMED, UNDECIDED = -1, -2, -3
"""A value that is the same for all columns, that is the sum over the columns, of which nothing is known. Else: the
axis that the columns slice.
"""


class ColumnFlow(NamedTuple):
    """atom: the index axis that the columns slice, if any. outputs: the column of each output.

    by_summand: whether sums over the columns are read summand by summand, what is written being such a sum, too.
    Any sum that is not must be complete when it is read: then it is the same for all columns.
    """

    atom: str | None
    outputs: tuple[int, ...]
    by_summand: bool = False


def flow(
    axes: Axes, read: Sequence[tuple[tuple[Dim, ...], int]], written: Sequence[tuple[Dim, ...]], linear: bool
) -> ColumnFlow | str:
    """The columns of what a node writes, from (dimensions, column) of each tensor that it reads.

    linear: whether the node is linear in inputs that are sums over the columns.
    Returns the reason where no law says what one column makes.
    """
    if any(column == UNDECIDED for _, column in read):
        return "it reads a value of which nothing is known"
    laws = {atom.name: atom.law for atom in axes.atoms}
    cut = {dims[column][0] for dims, column in read if column >= 0 and dims[column]}
    atoms = {name for name in cut if laws[name] is not Law.UNUSED}
    if linear and not atoms and any(column == SUMMED for _, column in read):
        return ColumnFlow(None, tuple(SUMMED for _ in written), by_summand=True)
    if not atoms:
        return ColumnFlow(None, tuple(NO_COLUMN for _ in written))
    if len(atoms) > 1:
        return f"the batch runs along several of its index axes ({', '.join(sorted(atoms))})"
    (atom,) = atoms
    if laws[atom] is Law.WHOLE:
        return f"it computes along the batch (index axis {atom})"
    if any(atom in dim for dims, column in read for k, dim in enumerate(dims) if k != column):
        return f"only some of its inputs are cut along the batch (index axis {atom})"
    outputs = []
    for dims in written:
        place = next((k for k, dim in enumerate(dims) if atom in dim), None)
        if place is not None and dims[place][0] != atom:
            return f"the batch becomes a strided part of dimension {place} of its output"
        outputs.append(SUMMED if place is None else place)
    return ColumnFlow(atom, tuple(outputs))
