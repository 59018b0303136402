"""How often a tensor seems to be a share of a value, on random numbers: a guess that numbers refute is none."""

from collections.abc import Mapping, Sequence

import numpy as np

from verdict.lineage import Reference, Value
from verdict.lineage.values import ONCE, Share, Times
from verdict.ops import Array
from verdict.residue.islands import MOST_COPIES
from verdict.sweep import Held, simple_multiple

GREAT = 1e18
"""From here on numbers are masks, beside which all others vanish."""


class OnNumbers:
    """Whether tensors are shares of single-device values on the numbers that both plans were run on."""

    def __init__(self, table: Reference, held: Held) -> None:
        self.held = held
        self.bases = table.bases
        self.made = {bases[0]: tensor for tensor, bases in table.values.items() if len(bases) == 1}

    def times(self, device: int, tensor: int, value: Value) -> Times | None:
        """How often a tensor is the sum of these shares; None where it is no multiple of that.

        Once where nothing is known: what is given is in no flow, a region may have no bounds at reduced shapes, and
        what is no number says nothing. Nor do zeros on both sides, as behind a ReLU that lets nothing through.
        """
        pairs: list[tuple[Array, Array]] = []
        for single, parallel in zip(self.held.single, self.held.parallel, strict=True):
            due, here = self._due(single, value), parallel.get((device, tensor))
            if due is None or here is None or due.shape != here.shape:
                return ONCE
            if not (np.isfinite(due).all() and np.isfinite(here).all()):
                return ONCE
            due, here = _unmasked(due, here)
            if due.any() or here.any():
                pairs.append((due, here))
        if not pairs:
            return ONCE
        found = simple_multiple(pairs)
        return found if found is not None and 0 < found <= MOST_COPIES else None

    def _due(self, single: Mapping[int, Array], value: Value) -> Array | None:
        parts: Sequence[Array | None] = [
            single.get(self.made[share.base]) if share.base in self.made else None for share in value
        ]
        pairs = zip(parts, value, strict=True)
        found = [None if part is None else self._taken(part, share) for part, share in pairs]
        known = [part for part in found if part is not None]
        return sum(known[1:], known[0]) if known and len(known) == len(value) else None

    def _taken(self, part: Array, share: Share) -> Array | None:
        """The region of a share, of an array that may be of a reduced shape; None where it has no whole bounds."""
        region = [
            (start * small, end * small, max(size, 1))
            for (start, end), small, size in zip(share.region, part.shape, self.bases[share.base].shape, strict=True)
        ]
        if any(start % size or end % size for start, end, size in region):
            return None
        return part[tuple(slice(start // size, end // size) for start, end, size in region)]


def _unmasked(due: Array, here: Array) -> tuple[Array, Array]:
    """Both, without the masks that they share."""
    masks = (np.abs(due) >= GREAT) & (due == here)
    return np.where(masks, 0.0, due), np.where(masks, 0.0, here)
