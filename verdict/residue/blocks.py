"""In which order ranks hold the blocks of an axis: with zigzag, one from its front and one from its back each.

What a rank has is then two pieces of the axis, which no region can name. In the order in which ranks hold blocks it is
one interval.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import NamedTuple

from verdict.graph import ABSENT, BUFFER, INPUT, Interval, Plan, Tensor
from verdict.graph.lockstep import LOADER
from verdict.lineage import bind


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
    shares = _shares(parallel)
    axes: dict[int, int] = {}
    orders: set[Blocks] = set()
    for logical, of_devices in shares.items():
        cut = {axis for each in of_devices.values() for axis in _apart(each)}
        if not cut or logical not in bound:
            continue
        axis, whole = min(cut), single.logicals[bound[logical]].shape
        found = _order(of_devices, axis, parallel.logicals[logical].shape[axis])
        if found is None or len(cut) > 1 or whole[axis : axis + 1] != (found.size,):
            return None
        axes[bound[logical]] = axis
        orders.add(found)
    own = {logical: axes[whole] for logical, whole in bound.items() if whole in axes}
    if len(orders) != 1 or not _made(single).isdisjoint(axes) or not _made(parallel).isdisjoint(own):
        return None
    return Given(orders.pop(), axes, own)


def in_order(parallel: Plan, given: Given) -> Plan | None:
    """The parallel plan that is given the same in the order of ranks; None where it holds no intervals of that."""
    tensors: list[Tensor] = []
    for tensor in parallel.tensors:
        axis = given.parallel.get(tensor.logical)
        if axis is None:
            tensors.append(tensor)
            continue
        interval = given.blocks.held(tensor.region[axis])
        if interval is None:
            return None
        tensors.append(tensor._replace(region=(*tensor.region[:axis], interval, *tensor.region[axis + 1 :])))
    return replace(parallel, tensors=tuple(tensors), lines=())


def _made(plan: Plan) -> set[int]:
    """The logical tensors that are computed, or declared."""
    computed = {t for segment in plan.segments for node in segment.nodes if node.op != LOADER for t in node.outputs}
    declared = {tensor for held in plan.declared for tensor in (held.tensor, held.weight)}
    return {plan.tensors[tensor].logical for tensor in (computed | declared) - {ABSENT}}


def _shares(plan: Plan) -> dict[int, dict[int, list[Tensor]]]:
    """The given tensors of each logical one that each device reads, in the order in which it does."""
    found: dict[int, dict[int, dict[Tensor, None]]] = defaultdict(lambda: defaultdict(dict))
    for segment in plan.segments:
        for tensor in (tensor for node in segment.nodes for tensor in node.inputs):
            if tensor != ABSENT and plan.kind(tensor) in (INPUT, BUFFER):
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


def _order(of_devices: Mapping[int, list[Tensor]], axis: int, size: int) -> Blocks | None:
    """The order in which devices hold the blocks of an axis, those of the first device first; None where these are
    unequal, overlap, or are not all of it.
    """
    each = (tensor.region[axis] for _, tensors in sorted(of_devices.items()) for tensor in tensors)
    intervals = list(dict.fromkeys(each))
    lengths = {stop - start for start, stop in intervals}
    length = lengths.pop()
    ends = [*accumulate((length for _ in intervals), initial=0)]
    if lengths or not length or sorted(start for start, _ in intervals) != ends[:-1] or ends[-1] != size:
        return None
    return Blocks(size, tuple(start // length for start, _ in intervals))
