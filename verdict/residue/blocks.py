"""In which order ranks hold the blocks of an axis: with zigzag, one from its front and one from its back each.

What a rank has is then two pieces of the axis, which no region can name. In the order in which ranks hold blocks it is
one interval.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import gcd
from typing import NamedTuple

from verdict.graph import ABSENT, BUFFER, INPUT, Interval, Node, Plan, Tensor
from verdict.graph import whole as all_of
from verdict.graph.lockstep import LOADER
from verdict.lineage import bind
from verdict.residue.changed import Back, Changed, runs_once
from verdict.residue.taken import given_whole, taken

MOST_BLOCKS = 64
"""The most blocks of an axis: of zigzag two for each of 32 ranks. A node takes each, wherever all are put in order."""


class Blocks(NamedTuple):
    """The blocks of an axis of so many elements, as numbers, in the order in which ranks hold them."""

    size: int
    order: tuple[int, ...]

    @property
    def length(self) -> int:
        """How many elements each block has."""
        return self.size // len(self.order)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The blocks as they lie in the axis, one after the other."""
        return tuple((k * self.length, (k + 1) * self.length) for k in range(len(self.order)))

    @property
    def taken(self) -> tuple[Interval, ...]:
        """The blocks in the order of ranks, as they lie in the axis."""
        return tuple(self.intervals[block] for block in self.order)

    @property
    def put_back(self) -> tuple[Interval, ...]:
        """The blocks as they lie in the axis, as ranks order them."""
        return tuple(self.intervals[self.order.index(block)] for block in range(len(self.order)))

    def flattened(self, before: int, after: int) -> "Blocks":
        """The blocks of an axis into which this one is flattened, with so many elements of axes before and after it."""
        count = len(self.order)
        order = tuple(place * count + block for place in range(before) for block in self.order)
        return Blocks(self.size * before * after, order)

    def part(self, before: int, size: int, after: int) -> "Blocks | None":
        """The blocks of an axis of so many elements that is flattened into this one so; None where it has none."""
        count = len(self.order) // before
        if not count or size % count or self.size != before * size * after:
            return None
        found = Blocks(size, self.order[:count])
        return found if found.flattened(before, after) == self else None

    def held(self, interval: Interval) -> Interval | None:
        """Where an interval of the axis lies in the order of ranks; None where it is none there."""
        places = {block: place for place, block in enumerate(self.order)}
        start, stop = interval
        if start == stop:
            return None
        found = [places[block] for block in range(start // self.length, (stop - 1) // self.length + 1)]
        if found != [*range(found[0], found[0] + len(found))]:
            return None
        begin = found[0] * self.length + start % self.length
        return begin, begin + stop - start


class Given(NamedTuple):
    """Which axis of given tensors ranks hold in blocks, by the logical tensor of the single-device plan and by that of
    the parallel one, and in which order.
    """

    blocks: Blocks
    single: Mapping[int, int]
    parallel: Mapping[int, int]


def given_blocks(single: Plan, parallel: Plan) -> Given | None:
    """The order in which ranks hold blocks of what they are given; None where these are intervals as it is, or it is
    computed or declared, too, and not given alone.
    """
    bound = bind(single, parallel).logical
    axes: dict[int, int] = {}
    orders: set[Blocks] = set()
    for logical, of_devices in _held(parallel).items():
        if logical not in bound:
            continue
        cut = {axis for axis, _ in of_devices.values()}
        axis, whole = min(cut), single.logicals[bound[logical]].shape
        each = [interval for _, (_, intervals) in sorted(of_devices.items()) for interval in intervals]
        found = _order(each, parallel.logicals[logical].shape[axis])
        if found is None or len(cut) > 1 or whole[axis : axis + 1] != (found.size,):
            return None
        axes[bound[logical]] = axis
        orders.add(found)
    own = {logical: axes[whole] for logical, whole in bound.items() if whole in axes}
    if len(orders) != 1 or not _made(single).isdisjoint(axes) or not _made(parallel).isdisjoint(own):
        return None
    return Given(orders.pop(), axes, own)


def in_order(parallel: Plan, given: Given) -> Plan | None:
    """The parallel plan that is given the same in the order of ranks: intervals where they are then, and what it is
    given whole put back as it was; None where it is given anything else.
    """
    changed, back = Changed(parallel), dict[int, Back]()
    for number, tensor in enumerate(parallel.tensors):
        axis = given.parallel.get(tensor.logical)
        if axis is None:
            continue
        interval, whole = given.blocks.held(tensor.region[axis]), parallel.logicals[tensor.logical]
        if interval is not None:
            region = (*tensor.region[:axis], interval, *tensor.region[axis + 1 :])
            changed.tensors[number] = tensor._replace(region=region)
        elif tensor.region == all_of(whole.shape) and parallel.columns == 1:
            back[number] = changed.put_back(number, axis, given.blocks.put_back)
        else:
            return None
    if back and not runs_once(parallel):
        return None
    segments = list(parallel.segments)
    for calls in parallel.programs:
        unread = dict(back)
        for call in calls if back else ():
            nodes = tuple(_put_back(segments[call.segment].nodes, unread))
            segments[call.segment] = segments[call.segment]._replace(nodes=nodes)
    return changed.of(segments)


def _put_back(nodes: Sequence[Node], unread: dict[int, Back]) -> Iterator[Node]:
    """The nodes of a device, with what they are given whole put back as it was where it is met first."""
    for node in nodes:
        loaded = node.outputs if node.op == LOADER else ()
        met = sorted({*node.inputs, *loaded} & unread.keys())
        each = {tensor: unread.pop(tensor) for tensor in met}
        if loaded:
            yield node._replace(outputs=tuple(each[t].given if t in each else t for t in node.outputs))
        for back in each.values():
            yield from back.nodes
        if not loaded:
            yield node


def _held(plan: Plan) -> dict[int, dict[int, tuple[int, tuple[Interval, ...]]]]:
    """Of given tensors by logical one the axis along which each device holds several pieces, and these."""
    found: dict[int, dict[int, tuple[int, tuple[Interval, ...]]]] = defaultdict(dict)
    for logical, of_devices in _shares(plan).items():
        cut = {axis for tensors in of_devices.values() for axis in _apart(tensors)}
        for device, tensors in of_devices.items() if len(cut) == 1 else ():
            (axis,) = cut
            found[logical][device] = axis, tuple(tensor.region[axis] for tensor in tensors)
    given = given_whole(plan) if plan.columns == 1 and not found else {}
    for device in range(plan.devices) if given else ():
        for logical, axis, intervals in taken(plan, device, given):
            before = found[logical].get(device)
            if before is None or _length(intervals) >= _length(before[1]):
                found[logical][device] = axis, intervals
    return {logical: each for logical, each in found.items() if any(len(pieces) > 1 for _, pieces in each.values())}


def _length(intervals: Sequence[Interval]) -> int:
    return sum(stop - start for start, stop in intervals)


def _made(plan: Plan) -> set[int]:
    """The logical tensors that are computed, or declared."""
    computed = {t for segment in plan.segments for node in segment.nodes if node.op != LOADER for t in node.outputs}
    declared = {tensor for held in plan.declared for tensor in (held.tensor, held.weight)}
    return {plan.tensors[tensor].logical for tensor in (computed | declared) - {ABSENT}}


def _shares(plan: Plan) -> dict[int, dict[int, list[Tensor]]]:
    """The given tensors of each logical one that each device reads, in the order in which it does."""
    found: dict[int, dict[int, dict[Tensor, None]]] = defaultdict(lambda: defaultdict(dict))
    given = {k for k, tensor in enumerate(plan.tensors) if plan.logicals[tensor.logical].kind in (INPUT, BUFFER)}
    for segment in plan.segments:
        for tensor in (tensor for node in segment.nodes for tensor in node.inputs):
            if tensor in given:
                found[plan.tensors[tensor].logical][segment.device][plan.tensors[tensor]] = None
    return {logical: {device: list(each) for device, each in devices.items()} for logical, devices in found.items()}


def _apart(tensors: list[Tensor]) -> set[int]:
    """The axes along which tensors of one device are intervals that do not lie side by side."""
    regions = [tensor.region for tensor in tensors]
    return {
        axis
        for axis in range(len(regions[0]))
        for first, second in pairwise(regions)
        if first[axis][1] != second[axis][0] and first[axis] != second[axis]
    }


def _order(intervals: Sequence[Interval], size: int) -> Blocks | None:
    """The order of the blocks of an axis in these intervals, as far as they are not met before; None where they overlap
    otherwise, are not all of it, or are too many.
    """
    length = gcd(size, *chain(*intervals))
    if not length:
        return None
    blocks = [block for start, stop in intervals for block in range(start // length, stop // length)]
    order = tuple(dict.fromkeys(blocks))
    if len(order) != size // length or len(order) > MOST_BLOCKS:
        return None
    return Blocks(size, order)
