"""Small shapes for whole plans: every tensor of the plans given, shrunk by scales that fit together everywhere.

Every cut of every region of every tensor stays a cut, the number of pieces stays, and axes that an operator
computes along keep the elements that its rule asks for. Constants keep their full values (`OpRule.reduce`).
An axis shrinks in one way wherever it occurs (scales.py), so that whatever fits at the full shapes fits here.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from verdict.graph import Plan
from verdict.ops import FACTS, RECORDED
from verdict.reduction.chains import chained, longest
from verdict.reduction.coordinates import Coordinates
from verdict.reduction.crowds import crowded
from verdict.reduction.factors import Factors
from verdict.reduction.hops import keep_hops
from verdict.reduction.offsets import moved
from verdict.reduction.products import keep_products
from verdict.reduction.scales import Scales
from verdict.reduction.side import Side
from verdict.reduction.stand_ins import stand_ins
from verdict.reduction.states import COUNTS
from verdict.reduction.sums import keep_sums
from verdict.reduction.visit import Visit
from verdict.semantics import Binding, Small
from verdict.semantics.bind import partners, with_buffers

LEAST = 3
"""The fewest elements that any axis keeps, where it has them."""
LEAST_RECORDED = 2
"""The same for recorded programs, of which every tensor of a rank is a whole: of each rank's part of an axis."""


class Reduced(NamedTuple):
    """Both plans as they are reduced, where tables are given tensors; how they are bound; and their small shapes.

    uneven: whether parts of some axis shrank unlike each other.
    """

    single: Plan
    parallel: Plan
    binding: Binding
    small: tuple[Small, Small]
    uneven: bool = False


def shrink(
    single: Plan, parallel: Plan, binding: Binding, grow: int = 0, whole: Collection[int] = frozenset()
) -> Reduced:
    """Both plans at small shapes that fit together; at full ones both must fit. Raises Faulty.

    grow: how many elements more than it must each axis keeps between its cuts. whole: axes of these sizes keep them.
    """
    factors = Factors()
    recorded = any(node.op in RECORDED for segment in parallel.segments for node in segment.nodes)
    least = LEAST_RECORDED if recorded else LEAST
    one, two = Side(single, factors, least), Side(parallel, factors, least)
    for mine, theirs in binding.logical.items():
        for dim, other in zip(two.dims[mine], one.dims[theirs], strict=True):
            factors.join(dim, other)
        two.coordinates.join_other(mine, one.coordinates, theirs)
    visits = one.join_all(), two.join_all()
    apart = _divides_by_counts(one.coordinates, visits[0]) != _divides_by_counts(two.coordinates, visits[1])
    one.finish(visits[0], apart)
    two.finish(visits[1], apart)
    for mine, theirs in partners(single, parallel).items():
        left, right = two.dims[parallel.tensors[mine].logical], one.dims[single.tensors[theirs].logical]
        sizes = zip(two.shapes[mine], one.shapes[theirs], strict=False)
        for dim, other, (size, its) in zip(left, right, sizes, strict=False):
            factors.tie(dim, size, other, its)
    read = [one.coordinates.tables, two.coordinates.tables]
    tables = stand_ins(single, parallel, read, lambda plan, tensor: (one, two)[plan].axes(tensor))
    one.take(tables[0], one)
    two.take(tables[1], one)
    for side in (one, two) if whole else ():
        side.freeze(whole)
    scales = Scales(factors, grow)
    one.coordinates.settle()
    two.coordinates.settle()
    one.constrain(scales)
    two.constrain(scales)
    for index, (axis, columns) in binding.batch.items():
        size = single.logicals[index].shape[axis]
        scales.cut(one.dims[index][axis], size, (size // columns,))
        scales.even(one.dims[index][axis], size)
        scales.even(one.dims[index][axis], size // columns)
    two.constrain_shards(scales)
    for side, own in zip((one, two), visits, strict=True):
        keep_products(side.coordinates, factors, own, scales)
        keep_sums(side.coordinates, factors, own, scales)
        keep_hops(side.coordinates, factors, own, scales)
    _note_ways(tuple(zip((one, two), visits, strict=True)), scales)
    found = one.small(scales), two.small(scales)
    one.require_fitting(found[0])
    two.require_fitting(found[1])
    plans = one.rewritten(found[0], scales), two.rewritten(found[1], scales)
    (single, first), (parallel, second) = plans
    return Reduced(single, parallel, with_buffers(binding, single, parallel), (first, second), scales.uneven)


def _divides_by_counts(known: Coordinates, visits: Sequence[Visit]) -> bool:
    """Whether some node divides by what it, or another one, counts. A constant in its place would not shrink with the
    axis.
    """
    for visit in visits:
        arity = len(visit.node.inputs)
        counts = [position for position, logical in visit.read.items() if known.state(logical) in COUNTS]
        by_counts = any(FACTS.is_divisor(visit.node.op, arity, position, visit.attrs) for position in counts)
        if by_counts or FACTS.divides_by_count(visit.node.op, visit.attrs):
            return True
    return False


def _note_ways(sides: Sequence[tuple[Side, Sequence[Visit]]], scales: Scales) -> None:
    """Say how often coordinates are related, and moved, on the way through either plan, and how many are compared."""
    for root, chain in longest(chained(side.coordinates, side.factors, own) for side, own in sides).items():
        scales.chained(root, chain.passes, chain.numbers)
    _note_moves(sides, scales)
    crowds = [crowded(side, scales) for side, _ in sides]
    if any(crowds):
        for root in crowds[0].keys() | crowds[1].keys():
            scales.crowded(root, max(each.get(root, 0) for each in crowds))
        _note_moves(sides, scales)


def _note_moves(sides: Sequence[tuple[Side, Sequence[Visit]]], scales: Scales) -> None:
    for side, own in sides:
        for root, times in moved(side.coordinates, side.factors, own, scales.odd()).items():
            scales.moved(root, times)
