"""Sums of constants in an order that data says: an order is a permutation, so that they are the sums of the constants.

What orders numbers is an unknown function here, of which that is known.
"""

from collections.abc import Sequence

import numpy as np

from verdict.ops.orders import adding, permutation, picking
from verdict.sweep.elements import Block, Elements, Ids
from verdict.sweep.flow import Step


class Orders:
    """Which blocks of elements say an order along a dimension, and which hold what was there in another order."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.places: dict[int, int] = {}
        self.permuted: dict[int, tuple[Ids, int]] = {}

    def note(self, step: Step, reads: Sequence[Ids], made: Sequence[Ids | None]) -> None:
        """Look at what a step made."""
        order = permutation(step.op, step.attrs)
        if order is not None and len(made) > order[0]:
            ids = made[order[0]]
            if ids is not None and ids.size:
                self.places[int(ids.flat[0])] = order[1] % ids.ndim
        dim = picking(step.op, step.attrs)
        ids = made[0] if made else None
        if dim is None or ids is None or not ids.size or len(reads) != 2 or reads[0].shape != reads[1].shape:
            return
        block = self._block(reads[1])
        along = self.places.get(block.start) if block is not None else None
        if block is not None and along is not None and _whole_rows(reads[1], dim % ids.ndim, block, along):
            self.permuted[int(ids.flat[0])] = (reads[0], dim % ids.ndim)

    def before(self, step: Step, reads: Sequence[Ids]) -> Ids | None:
        """What a step adds up as well as what it reads, which is that in another order; None where nothing is known."""
        dims = adding(step.op, step.attrs, reads[0].ndim) if len(reads) == 1 else None
        if not self.permuted or not dims or not reads[0].size:
            return None
        block = self._block(reads[0])
        source, dim = self.permuted.get(block.start, (None, 0)) if block is not None else (None, 0)
        if block is None or source is None:
            return None
        kept = [k for k in range(reads[0].ndim) if k not in dims]
        groups = np.transpose(reads[0], [*kept, *sorted(dims)]).reshape(*(reads[0].shape[k] for k in kept), -1)
        if not all(_is_of_rows(group, block, dim) for group in groups.reshape(-1, groups.shape[-1])):
            return None
        return source.reshape(-1)[reads[0] - block.start]

    def _block(self, ids: Ids) -> Block | None:
        """The block that elements are in, if it is one."""
        found = self.elements.blocks_of(ids)
        return found[0] if len(found) == 1 else None


def _whole_rows(ids: Ids, dim: int, block: Block, along: int) -> bool:
    """Whether each row of an array along a dimension holds all of one row of a block, in whatever order."""
    rows = np.moveaxis(ids, dim, -1).reshape(-1, ids.shape[dim])
    return ids.shape[dim] == block.shape[along] and all(_is_of_rows(row, block, along) for row in rows)


def _is_of_rows(ids: Ids, block: Block, along: int) -> bool:
    """Whether elements of a block are all of some of its rows along a dimension, each once."""
    if np.unique(ids).size != ids.size:
        return False
    places = list(np.unravel_index(ids - block.start, block.shape))
    del places[along]
    rest = [size for k, size in enumerate(block.shape) if k != along]
    rows = np.ravel_multi_index(places, rest) if rest else np.zeros(ids.size, dtype=np.int64)
    return bool((np.unique(rows, return_counts=True)[1] == block.shape[along]).all())
