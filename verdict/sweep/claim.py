"""A claim: elements that the parallel plan computes are those single-device elements. And the cone that decides it.

The cone of a claim are the parallel steps from elements that are known to be single-device ones up to the claimed
ones, and the single-device steps that define those that are claimed. Single-device elements in between are
variables. Where that does not suffice, the cone grows: a variable is replaced by the step that defines it.
"""

from collections.abc import Iterator, Set
from functools import reduce
from itertools import chain
from operator import or_
from typing import NamedTuple

import numpy as np

from verdict.sweep.elements import Ids, Kind
from verdict.sweep.trace import Part, Traces

MOST_ELEMENTS = 200_000
"""The most elements that the steps of a cone may read and make."""


class Claim(NamedTuple):
    """left: elements of the parallel plan. right: the single-device elements that they are said to be. Both flat.

    step: the parallel step that makes them; outputs of results have none, -1.
    """

    left: Ids
    right: Ids
    step: int
    output: int


class Cone(NamedTuple):
    """Steps of the parallel and of the single-device flow, in their order; those are executed, all else is given."""

    parallel: tuple[int, ...]
    single: tuple[int, ...]


def cone_of(traces: Traces, claim: Claim) -> Cone:
    """The smallest cone: what defines the two sides of the claim."""
    single = {block.owner for block in traces.elements.blocks_of(claim.right) if block.kind is Kind.SINGLE}
    return _with(traces, claim, single)


def grown(traces: Traces, claim: Claim, cone: Cone) -> Cone | None:
    """The cone with variables replaced that one side has and the other does not: all that are computed from other
    variables of the claim, else those of both sides that are computed from them, else the latest one. None where there
    is none. What both sides count, and is known not to be zero, is replaced last.
    """
    unfolded = set(cone.single)
    left, right = leaves(traces, claim.left, unfolded), leaves(traces, claim.right, unfolded)
    counting = {number for number, _ in traces.single.counts} & _owners(traces, np.intersect1d(left, right), unfolded)
    fresh = _next(traces, left, right, unfolded | counting) or _next(traces, left, right, unfolded)
    if not fresh:
        return None
    larger = _with(traces, claim, unfolded | fresh)
    return larger if size_of(traces, larger) <= MOST_ELEMENTS else None


def _next(traces: Traces, left: Ids, right: Ids, unfolded: set[int]) -> set[int]:
    """The steps that define the variables of both sides which are replaced next."""
    every = _owners(traces, np.union1d(left, right), unfolded)
    apart = _owners(traces, np.setxor1d(left, right), unfolded)
    fresh = _of_one_side(traces, left, right, unfolded) or _above(traces, apart, every) or _above(traces, every, apart)
    return fresh or set(sorted(apart or every)[-1:])


def _of_one_side(traces: Traces, left: Ids, right: Ids, unfolded: set[int]) -> set[int]:
    """The steps that define variables of one side alone and are computed from others, but for those from which
    variables are computed that the other side has alone: when these are replaced, both may have them. Else the first of
    the steps of both sides that are computed from such.

    So a gradient that a softmax's backward pass reads is not written out down to the loss before; nor is it because one
    side reads more rows of it.
    """
    ours, theirs = (_owners(traces, ids, unfolded) for ids in (left, right))
    one, other = (_owners(traces, np.setdiff1d(*pair), unfolded) for pair in ((left, right), (right, left)))
    held = _below(traces, ours - theirs, other) | _below(traces, theirs - ours, one)
    fresh = _above(traces, ours ^ theirs, ours | theirs) - held
    if fresh:
        return fresh
    behind = _above(traces, ours & theirs, ours ^ theirs)
    return behind - _above(traces, behind, behind)


def _below(traces: Traces, owners: set[int], above: set[int]) -> set[int]:
    """Those of some single-device steps that others, `above`, are computed from."""
    reached = reduce(or_, (traces.single.above[owner] for owner in above), 0)
    return {owner for owner in owners if reached >> owner & 1}


def _above(traces: Traces, owners: set[int], below: set[int]) -> set[int]:
    """Those of some single-device steps that are computed from others, `below`."""
    mask = sum(1 << owner for owner in below)
    return {owner for owner in owners if traces.single.above[owner] & mask}


def _owners(traces: Traces, variables: Ids, unfolded: set[int]) -> set[int]:
    """The single-device steps that define variables and are not unfolded."""
    return {block.owner for block in traces.elements.blocks_of(variables) if block.kind is Kind.SINGLE} - unfolded


def size_of(traces: Traces, cone: Cone) -> int:
    """How many elements the steps of a cone read, each step the same ones once."""
    reads = [*(traces.parallel.reads[k] for k in cone.parallel), *(traces.single.reads[k] for k in cone.single)]
    return sum(ids.size for arrays in reads for ids in {ids.tobytes(): ids for ids in arrays}.values())


def is_infinite(traces: Traces, claim: Claim, unfolded: Set[int]) -> bool:
    """Whether a variable of a claim may be minus infinity, or what a single-device step that is unfolded makes."""
    infinite = traces.single.infinite
    if not infinite:
        return False
    made = (ids for number in unfolded for ids in traces.single.made[number] if ids is not None)
    variables = (leaves(traces, side, unfolded) for side in (claim.left, claim.right))
    return any(not infinite.isdisjoint(ids.flat) for ids in chain(made, variables))


def key_of(traces: Traces, claim: Claim, cone: Cone) -> bytes:
    """The canonical form of a claim and its cone: elements renamed by first appearance, constants by value."""
    arrays: list[Ids] = []
    shape: list[object] = []
    for trace, steps in ((traces.single, cone.single), (traces.parallel, cone.parallel)):
        shape.append(len(steps))
        for number in steps:
            step = trace.flow.steps[number]
            made = trace.made[number]
            arrays.extend(ids.ravel() for ids in (*trace.reads[number], *made) if ids is not None)
            shapes = [ids.shape for ids in trace.reads[number]], [None if ids is None else ids.shape for ids in made]
            shape.append((traces.keys.of(step), *shapes, number in trace.divisions))
    arrays.extend((claim.right, claim.left))
    side = np.concatenate(arrays) if arrays else np.zeros(0, np.int64)
    distinct, first, inverse = np.unique(side, return_index=True, return_inverse=True)
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(distinct))
    special: list[tuple[object, object]] = []
    blocks = traces.elements.blocks_of(distinct)
    for block in blocks:
        if block.kind is Kind.CONSTANT:
            special.append((int(rank[np.searchsorted(distinct, block.start)]), block.constant))
        elif traces.are_whole(block):
            end = block.start + int(np.prod(block.shape, dtype=np.int64))
            first, last = np.searchsorted(distinct, [block.start, end])
            own = rank[first:last]
            if block.kind is not Kind.GIVEN:
                special.append((sorted(own.tolist()), traces.within(block)))
                continue
            domain = traces.integers[block.owner]
            kinds = domain.place.ravel()[distinct[first:last] - block.start]
            for kind in np.unique(kinds).tolist():
                special.append((sorted(own[kinds == kind].tolist()), domain.kinds[kind]))
        elif traces.is_positive(block):
            end = block.start + int(np.prod(block.shape, dtype=np.int64))
            special.append((sorted(rank[slice(*np.searchsorted(distinct, [block.start, end]))].tolist()), "positive"))
    infinite = rank[np.isin(distinct, list(traces.single.infinite))].tolist() if traces.single.infinite else []
    rising = rank[np.isin(distinct, list(traces.single.rising))].tolist() if traces.single.rising else []
    form: tuple[object, ...] = (shape, sorted(map(repr, special)), sorted(infinite), sorted(rising), len(claim.left))
    if traces.single.divided:
        divided = traces.single.divided
        form = *form, [block.kind is Kind.SINGLE and bool(divided >> block.owner & 1) for block in blocks]
    if traces.single.failing or traces.single.doubtful:
        starts = np.searchsorted(distinct, [block.start for block in blocks[1:]])
        pieces = np.split(rank, starts) if blocks else []
        failing, absorbed = (
            sorted(k for block, piece in zip(blocks, pieces, strict=True) if holds(block.start) for k in piece.tolist())
            for holds in (traces.may_fail, traces.is_absorbed)
        )
        form = *form, failing, absorbed, claim.step >= 0, claim.step in traces.doubtful
    return repr(form).encode() + rank[inverse].tobytes()


def _with(traces: Traces, claim: Claim, single: set[int]) -> Cone:
    """The cone that unfolds these single-device steps, and all parallel steps that are reached."""
    parallel: set[int] = set()
    stack = [claim.left]
    while stack:
        for block in traces.elements.blocks_of(stack.pop()):
            if block.kind is Kind.PARALLEL and block.owner not in parallel:
                parallel.add(block.owner)
                stack.extend(ids.ravel() for ids in traces.parallel.reads[block.owner])
    return Cone(tuple(sorted(parallel)), tuple(sorted(single)))


def leaves(traces: Traces, elements: Ids, unfolded: Set[int]) -> Ids:
    """The single-device elements, as variables, that an array of elements comes from."""
    found: list[Ids] = []
    seen: set[tuple[Kind, int]] = set()
    stack = [*_parts(traces, elements)]
    while stack:
        kind, owner, ids = stack.pop()
        if kind is not Kind.PARALLEL and (kind is not Kind.SINGLE or owner not in unfolded):
            if kind is not Kind.CONSTANT:
                found.append(ids)
        elif (kind, owner) not in seen:
            seen.add((kind, owner))
            stack.extend(_read(traces, kind, owner))
    return np.unique(np.concatenate(found)) if found else np.zeros(0, np.int64)


def _read(traces: Traces, kind: Kind, owner: int) -> tuple[Part, ...]:
    """The elements that a step reads, found once."""
    if (kind, owner) not in traces.read:
        trace = traces.parallel if kind is Kind.PARALLEL else traces.single
        parts = (part for ids in trace.reads[owner] for part in _parts(traces, ids))
        traces.read[kind, owner] = tuple(parts)
    return traces.read[kind, owner]


def _parts(traces: Traces, elements: Ids) -> Iterator[Part]:
    """Elements by the step, or what else, that makes them; each once."""
    ids = np.unique(elements)
    for block in traces.elements.blocks_of(ids):
        end = block.start + int(np.prod(block.shape, dtype=np.int64))
        first, last = np.searchsorted(ids, [block.start, end])
        yield block.kind, block.owner, ids[first:last]
