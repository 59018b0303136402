"""Whether what was proved of a few equal layers is so of all of them.

What a walk says of a tensor follows, node by node, from what it says of the tensors that are read, and of cut points
from what their islands are given. All of these lie in layers beside each other, or in none. Where the walk says the
same of all inner layers that are kept, each moved on by one, that holds of any number of such layers between them.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping

from verdict.graph import ABSENT
from verdict.layers.fewer import Fewer
from verdict.layers.moving import LAST, Moving, is_between, is_inner, later_of, moving
from verdict.layers.short import KEPT, Short
from verdict.layers.stack import OUTSIDE
from verdict.layers.told import Told
from verdict.lineage import Lineages, Reference
from verdict.lineage.alike import picked_bases
from verdict.lineage.grounds import CutPoint
from verdict.lineage.infinite import infinite
from verdict.lineage.poles import absorbs_poles, doubtful, signs_of
from verdict.lineage.values import Share, Value
from verdict.ops.signs import POSITIVE
from verdict.residue import Decided
from verdict.residue.islands import Island

REACH = 2
"""How many layers further on an island may reach, so that one of a layer in the middle reaches inner ones alone."""


def carries(fewer: Fewer, walk: Lineages, decided: Decided | None, whole: Callable[[], Reference]) -> bool:
    """Whether a walk of the pair with fewer layers, all of which is proved, says as much of the whole pair.

    decided: what was proved between its cut points, if it has some. whole: the whole single-device plan as a table.
    """
    values = moving(fewer.single, walk.reference)
    if values is None or (decided is None and walk.cuts):
        return False
    if not (_held_alike(fewer.parallel, walk, values) and _moved_alike(fewer.parallel, walk, values)):
        return False
    if not _sums_alike(fewer, walk, values):
        return False
    if decided is None:
        return True
    return _islands_alike(fewer.parallel, decided, values) and _known_alike(fewer, walk.reference, whole())


def _held_alike(short: Short, walk: Lineages, values: Moving) -> bool:
    """Whether the walk says the same of the tensors of all inner layers, and guesses the same of them."""
    later, layer, told = later_of(short), short.layer, Told(values)
    for device, held in enumerate(walk.held):
        counts = Counter(int(layer[tensor]) for tensor in held)
        guesses = Counter(int(layer[tensor]) for at, tensor in walk.cuts if at == device)
        if any(len({found[k] for k in range(1, LAST)}) > 1 for found in (counts, guesses)):
            return False
        for tensor, value in held.items():
            if not is_between(layer[tensor]):
                continue
            other = later[tensor]
            if other not in held or told.next(value) != told.now(held[other]):
                return False
            if ((device, tensor) in walk.cuts) != ((device, other) in walk.cuts):
                return False
    return True


def _moved_alike(short: Short, walk: Lineages, values: Moving) -> bool:
    """Whether the same is known of the elements of tensors of all inner layers that are no region of one value, and of
    those of single-device values: what is moved on in each layer is elsewhere in the next one.
    """
    later, layer, told, made_of = later_of(short), short.layer, Told(values), walk.made_of
    for own in walk.moved:
        counts = Counter(int(layer[tensor]) for tensor in own)
        if len({counts[k] for k in range(1, LAST)}) > 1:
            return False
        inner = (tensor for tensor in own if is_between(layer[tensor]))
        if not all(told.moves(own[tensor], own.get(later[tensor])) for tensor in inner):
            return False
    between = ((base, later) for base, later in values.after.items() if is_between(values.made[base]))
    return all(
        (base in made_of) == (later in made_of) and told.moves(made_of.get(base), made_of.get(later))
        for base, later in between
    )


def _sums_alike(fewer: Fewer, walk: Lineages, values: Moving) -> bool:
    """Whether what belongs to no layer holds sums of all inner layers, of each the same, or of none."""
    outside = fewer.parallel.layer == OUTSIDE
    tensors = ((device, tensor) for device, held in enumerate(walk.held) for tensor in held if outside[tensor])
    alike = all(_is_of_each(value, values) for device, tensor in tensors for value in _said(walk, device, tensor))
    return alike and _adds_own(fewer, walk, values)


def _said(walk: Lineages, device: int, tensor: int) -> Iterator[Value]:
    """What a tensor holds, if that is known, and the values of whose elements it is made, if those are."""
    held = walk.held[device].get(tensor)
    if held:
        yield held
    elements = walk.moved[device].get(tensor) if walk.moved else None
    yield from elements.values if elements is not None else ()


def _is_of_each(value: Value, values: Moving) -> bool:
    """Whether a value is made of the same of each inner layer, or of nothing of them."""
    told = Told(values)
    shares: list[list[Share]] = [[] for _ in range(KEPT)]
    for share in value:
        layer = values.made[share.base]
        shares[layer if is_inner(layer) else 0].append(share)
    return all(told.next(shares[k]) == told.now(shares[k + 1]) for k in range(1, LAST - 1))


def _adds_own(fewer: Fewer, walk: Lineages, values: Moving) -> bool:
    """Whether sums over all layers add what is each layer's own: of one addend that all layers share they would count
    how many layers there are.
    """
    single, parallel = fewer.single, fewer.parallel
    table = values.table
    alone = all(values.is_own(table.values.get(t, ()), int(single.layer[t])) for t in _addends(single, 0))
    return alone and all(
        values.is_own((share.base for share in value), int(parallel.layer[t]))
        for device in range(len(walk.held))
        for t in _addends(parallel, device)
        for value in _said(walk, device, t)
    )


def _addends(short: Short, device: int) -> Iterator[int]:
    """What a device adds up of all inner layers."""
    for segment in short.plan.segments:
        for node in segment.nodes if segment.device == device else ():
            if any(short.layer[t] == OUTSIDE for t in node.outputs if t != ABSENT):
                yield from (t for t in node.inputs if t != ABSENT and is_inner(short.layer[t]))


def _islands_alike(short: Short, decided: Decided, values: Moving) -> bool:
    """Whether each island of inner layers lies in layers beside each other, on both sides, and is the same from layer
    to layer.
    """
    later, layer = later_of(short), short.layer
    known = {_places(island, {}): pair for island, pair in zip(decided.islands, decided.pairs, strict=True)}
    for island, pair in zip(decided.islands, decided.pairs, strict=True):
        own = {int(layer[tensor]) for _, tensor in _tensors(island)} - {OUTSIDE}
        every = own | _computed(island, values)
        if not any(map(is_inner, every)):
            continue
        if not own or max(every) - min(every) > REACH:
            return False
        if min(own) > 0 and max(own) < LAST - 1 and known.get(_places(island, later)) != pair:
            return False
    return True


def _computed(island: Island, values: Moving) -> set[int]:
    """The layers in which the single-device values are made by which an island's own are computed, back to what it is
    given.
    """
    table = values.table
    given = {share.base for value in island.given.values() for share in value}
    seen = {share.base for value in island.due.values() for share in value}
    stack = [*(seen - given)]
    while stack:
        node = table.bases[stack.pop()].node
        read = set(table.partners[node].read) - seen if node >= 0 else set[int]()
        seen |= read
        stack.extend(read - given)
    return {values.made[base] for base in seen | given} - {OUTSIDE}


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
        if not is_inner(of.layer[tensor]) and one.get(tensor) != other.get(full):
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
