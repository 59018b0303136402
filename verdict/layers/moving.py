"""Which single-device values are those of a layer, and which are the same for all layers.

A walk of few layers says of all of them what it says of these only where nothing rests on how many there are. So a
value of an inner layer is either one for all of them, or another one for each, made there or in one beside it; it is
added up of what layers further off made as that of the next layer is; and sums of all layers add what is a layer's own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from verdict.layers.short import KEPT, Short
from verdict.layers.stack import OUTSIDE
from verdict.lineage import Reference
from verdict.lineage.reference import Bases

LAST = KEPT - 1
"""The last layer that is kept: the inner ones are those between 0 and it."""
BESIDE = 1
"""How many layers off what a layer holds may be made, as it reads those beside it."""


def is_inner(layer: int) -> bool:
    """Whether a layer that is kept is neither the first nor the last one."""
    return 0 < layer < LAST


def later_of(short: Short) -> dict[int, int]:
    """Of each tensor of a layer that is kept the same of the next one."""
    places = zip(short.row.tolist(), short.layer.tolist(), strict=True)
    of = {place: tensor for tensor, place in enumerate(places) if place[1] != OUTSIDE}
    return {tensor: of[row, layer + 1] for (row, layer), tensor in of.items() if (row, layer + 1) in of}


@dataclass(frozen=True, slots=True)
class Moving:
    """Values of a single-device plan with few layers. after: of each value of a layer the same of the next one.
    made: the layer in which each is made; OUTSIDE for what is made in none, and for one that all inner layers hold.
    """

    table: Reference
    after: Mapping[int, int]
    made: Sequence[int]

    def leaves(self, base: int) -> Iterable[int]:
        """What is added up where a value is."""
        return self.table.leaves.get(base, (base,))

    def is_own(self, bases: Iterable[int], layer: int) -> bool:
        """Whether all that is added up in values is made in a layer, or in those beside it."""
        made = (self.made[leaf] for base in bases for leaf in self.leaves(base))
        return all(one != OUTSIDE and abs(one - layer) <= BESIDE for one in made)


def moving(short: Short, table: Reference) -> Moving | None:
    """The values of the plan with few layers; None where those of inner layers are not alike, each moved on by one."""
    first: dict[int, int] = {}
    for tensor, bases in table.values.items():
        if len(bases) == 1:
            first.setdefault(bases[0], int(short.layer[tensor]))
    made = [first.get(base, OUTSIDE) for base in range(len(table.bases))]
    after = _after(short, table, made)
    if after is None:
        return None
    for base, later in after.items():
        if base == later:
            made[base] = OUTSIDE
    values = Moving(table, after, made)
    return values if _held_alike(short, values) and _added_alike(values) else None


def _pairs(short: Short, table: Reference) -> Iterator[tuple[int, Bases, Bases]]:
    """The layer of each tensor, what it holds, and what the same of the next layer does."""
    for tensor, later in later_of(short).items():
        yield int(short.layer[tensor]), table.values.get(tensor, ()), table.values.get(later, ())


def is_between(layer: int) -> bool:
    """Whether a layer and the next one are inner ones."""
    return is_inner(layer) and is_inner(layer + 1)


def _after(short: Short, table: Reference, made: Sequence[int]) -> dict[int, int] | None:
    """Of each value of a layer the same of the next one; None where that is several, or one that is not made in the
    layer behind: what is handed on over several layers is another one in some of them. The first and the last layer may
    hold a value where others hold another one.
    """
    found: dict[int, int] = {}
    ends: dict[int, int] = {}
    for layer, one, other in _pairs(short, table):
        if len(one) != 1 or len(other) != 1:
            continue
        (base,), (later,) = one, other
        moves = made[base] != OUTSIDE and made[later] == made[base] + 1
        if is_between(layer):
            if not (moves or base == later) or found.setdefault(base, later) != later:
                return None
        elif moves:
            ends.setdefault(base, later)
    return ends | found


def _held_alike(short: Short, values: Moving) -> bool:
    """Whether sums that tensors of inner layers hold are alike."""
    after = values.after
    return all(
        sorted(after.get(base, base) for base in one) == sorted(other)
        for layer, one, other in _pairs(short, values.table)
        if is_between(layer)
    )


def _added_alike(values: Moving) -> bool:
    """Whether values of inner layers are added up of the same that is no layer's, or that is made far off: where these
    are as many from layer to layer, they are as many in all.
    """
    for base, later in values.after.items():
        layer = values.made[base]
        if is_between(layer) and _far(values, base, layer) != _far(values, later, layer):
            return False
    return True


def _far(values: Moving, base: int, layer: int) -> Counter[int]:
    """What is added up in a value of a layer, or of the next one, that is made in no layer beside these."""
    near = range(layer - BESIDE, layer + BESIDE + 2)
    made = values.made
    return Counter(leaf for leaf in values.leaves(base) if made[leaf] == OUTSIDE or made[leaf] not in near)
