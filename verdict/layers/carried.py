"""Whether what was proved of a few equal layers is so of all of them.

What a walk says of a tensor follows, node by node, from what it says of the tensors that are read, and of cut points
from what their islands are given. All of these lie in layers beside each other, or in none. Where the walk says the
same of all inner layers that are kept, each moved on by one, that holds of any number of such layers between them.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping

from verdict.graph import ABSENT
from verdict.layers.fewer import Fewer
from verdict.layers.short import KEPT, Short
from verdict.layers.stack import OUTSIDE
from verdict.lineage import Lineages, Reference
from verdict.lineage.alike import picked_bases
from verdict.lineage.grounds import CutPoint
from verdict.lineage.infinite import infinite
from verdict.lineage.poles import absorbs_poles, doubtful, signs_of
from verdict.lineage.values import Label, Shard, Share
from verdict.ops.signs import POSITIVE
from verdict.residue import Decided
from verdict.residue.islands import Island

LAST = KEPT - 1
"""The last layer that is kept: the inner ones are those between 0 and it."""
REACH = 2
"""How many layers further on an island may reach, so that one of a layer in the middle reaches inner ones alone."""


def carries(fewer: Fewer, walk: Lineages, decided: Decided | None, whole: Callable[[], Reference]) -> bool:
    """Whether a walk of the pair with fewer layers, all of which is proved, says as much of the whole pair.

    decided: what was proved between its cut points, if it has some. whole: the whole single-device plan as a table.
    """
    after = _after(fewer.single, walk.reference)
    if after is None or (decided is None and walk.cuts):
        return False
    told = _Told(walk.reference, after)
    if not (_held_alike(fewer.parallel, walk, told) and _sums_alike(fewer, walk, told)):
        return False
    return decided is None or (_islands_alike(fewer.parallel, decided) and _known_alike(fewer, walk.reference, whole()))


def _next(short: Short) -> dict[int, int]:
    """Of each tensor of a layer that is kept the same of the next one."""
    places = zip(short.row.tolist(), short.layer.tolist(), strict=True)
    of = {place: tensor for tensor, place in enumerate(places) if place[1] != OUTSIDE}
    return {tensor: of[row, layer + 1] for (row, layer), tensor in of.items() if (row, layer + 1) in of}


def _is_inner(layer: int) -> bool:
    return 0 < layer < LAST


def _after(short: Short, table: Reference) -> dict[int, int] | None:
    """Of each value of a layer the same of the next one; None where a value is several. The first and the last layer
    may hold a value where others hold another one.
    """
    found: dict[int, int] = {}
    ends: dict[int, int] = {}
    for tensor, later in _next(short).items():
        one, other = table.values.get(tensor, ()), table.values.get(later, ())
        if len(one) != 1 or len(other) != 1:
            continue
        between = _is_inner(short.layer[tensor]) and _is_inner(short.layer[later])
        if (found if between else ends).setdefault(one[0], other[0]) != other[0] and between:
            return None
    return ends | found


class _Told:
    """What values are, told such that those of layers beside each other can be compared. after: of each value of a
    layer the same of the next one.
    """

    def __init__(self, table: Reference, after: Mapping[int, int]) -> None:
        self.table, self.after = table, after

    def now(self, value: Iterable[Share] | None) -> Hashable:
        """What a value is."""
        return None if value is None else _counted(self._share(share, {}) for share in value)

    def next(self, value: Iterable[Share] | None) -> Hashable:
        """What a value is, one layer further on."""
        return None if value is None else _counted(self._share(share, self.after) for share in value)

    def _share(self, share: Share, after: Mapping[int, int]) -> Hashable:
        part = frozenset((self._label(label, after), interval) for label, interval in share.part)
        shard = share.shard
        label = self._label(shard.label, after) if isinstance(shard, Shard) and shard.label is not None else None
        mark = (shard.axis, shard.stride, label) if isinstance(shard, Shard) else ()
        return after.get(share.base, share.base), share.region, part, share.spread, mark, share.times

    def _label(self, label: Label, after: Mapping[int, int]) -> Hashable:
        return frozenset(axis._replace(node=self._node(axis.node, after)) for axis in label.axes)

    def _node(self, node: int, after: Mapping[int, int]) -> int:
        """The single-device node that is the same as this one where values are."""
        made = next(base for base in self.table.partners[node].outputs if base != ABSENT)
        return self.table.bases[after.get(made, made)].node


def _counted(shares: Iterable[Hashable]) -> Hashable:
    """Shares, in whatever order they stand."""
    return frozenset(Counter(shares).items())


def _held_alike(short: Short, walk: Lineages, told: _Told) -> bool:
    """Whether the walk says the same of the tensors of all inner layers, and guesses the same of them."""
    later, layer = _next(short), short.layer
    for device, held in enumerate(walk.held):
        counts = Counter(int(layer[tensor]) for tensor in held)
        guesses = Counter(int(layer[tensor]) for at, tensor in walk.cuts if at == device)
        if any(len({found[k] for k in range(1, LAST)}) > 1 for found in (counts, guesses)):
            return False
        for tensor, value in held.items():
            if not 0 < layer[tensor] < LAST - 1:
                continue
            other = later[tensor]
            if other not in held or told.next(value) != told.now(held[other]):
                return False
            if ((device, tensor) in walk.cuts) != ((device, other) in walk.cuts):
                return False
    return True


def _sums_alike(fewer: Fewer, walk: Lineages, told: _Told) -> bool:
    """Whether what belongs to no layer holds sums of all inner layers, of each the same, or of none."""
    layers = _layers_of(fewer.single, walk.reference)
    outside = fewer.parallel.layer == OUTSIDE
    for held in walk.held:
        for tensor, value in held.items():
            if not outside[tensor] or not value:
                continue
            shares: list[list[Share]] = [[] for _ in range(KEPT)]
            for share in value:
                shares[layers.get(share.base, 0)].append(share)
            if any(told.next(shares[k]) != told.now(shares[k + 1]) for k in range(1, LAST - 1)):
                return False
    return True


def _layers_of(short: Short, table: Reference) -> dict[int, int]:
    """The layers in which values are first met."""
    found: dict[int, int] = {}
    for tensor, bases in table.values.items():
        if len(bases) == 1:
            found.setdefault(bases[0], int(short.layer[tensor]))
    return {base: layer for base, layer in found.items() if _is_inner(layer)}


def _islands_alike(short: Short, decided: Decided) -> bool:
    """Whether each island lies in layers beside each other, and is the same from layer to layer."""
    later, layer = _next(short), short.layer
    known = {_places(island, {}): pair for island, pair in zip(decided.islands, decided.pairs, strict=True)}
    for island, pair in zip(decided.islands, decided.pairs, strict=True):
        layers = {int(layer[tensor]) for _, tensor in _tensors(island)} - {OUTSIDE}
        if not layers:
            continue
        if max(layers) - min(layers) > REACH:
            return False
        if min(layers) > 0 and max(layers) < LAST - 1 and known.get(_places(island, later)) != pair:
            return False
    return True


def _tensors(island: Island) -> Iterator[CutPoint]:
    """What an island is given, what it makes and what is due of it."""
    yield from island.given
    yield from island.due
    yield from _made(island)


def _made(island: Island) -> Iterator[CutPoint]:
    return ((at, tensor) for event in island.events for at, node in event.nodes for tensor in node.outputs)


def _places(island: Island, later: Mapping[int, int]) -> Hashable:
    """Where an island lies, where other tensors stand for some."""
    each = (island.given, island.due, _made(island))
    return tuple(frozenset((at, later.get(tensor, tensor)) for at, tensor in points) for points in each)


def _known_alike(fewer: Fewer, short: Reference, whole: Reference) -> bool:
    """Whether the same is known of single-device values of all inner layers, as far as proofs of islands rest on it:
    signs, and which may be no numbers, or infinite.
    """
    if absorbs_poles(whole):
        return False
    (one, absorbed), (other, absorbs) = _known_of(short), _known_of(whole)
    if absorbed != absorbs:
        return False
    of, stack = fewer.single, fewer.single.stack
    numbers = {(row, layer): t for t, (row, layer) in enumerate(zip(of.row.tolist(), of.layer.tolist(), strict=True))}
    for tensor, full in enumerate(of.tensors.tolist()):
        if not _is_inner(of.layer[tensor]) and one.get(tensor) != other.get(full):
            return False
    for row, tensors in enumerate(stack.grid):
        due = one.get(numbers[row, LAST // 2]) if (row, LAST // 2) in numbers else None
        inner = {one.get(numbers[row, k]) for k in range(1, LAST) if (row, k) in numbers}
        if (inner | {other.get(tensor) for tensor in tensors[1:-1].tolist()}) != {due}:
            return False
    return True


def _known_of(table: Reference) -> tuple[dict[int, Hashable], bool]:
    """What is known of the single-device tensors, and whether an operator may make numbers of what is none."""
    signs, known, endless = signs_of(table, POSITIVE), signs_of(table), infinite(table)
    doubt, picked = doubtful(table, known), picked_bases(table)
    sets = (doubt.values, endless.values, endless.by_data, endless.hidden, picked)

    def of(base: int) -> Hashable:
        node = table.bases[base].node
        return signs.get(base), known.get(base), node in doubt.divisions, tuple(base in one for one in sets)

    said = [of(base) for base in range(len(table.bases))]
    return {tensor: frozenset(said[base] for base in bases) for tensor, bases in table.values.items()}, doubt.absorbed
