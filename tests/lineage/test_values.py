"""Formal sums of shares, read as what they stand for: sums of slices of arrays of random numbers."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verdict.graph import chunks
from verdict.lineage.values import Label, Share, add, concatenate, merge_parts, piece

SHAPE, SUMMED = (6, 4), {"i": 8, "j": 6}
LABELS = {atom: Label(0, 0, atom, size) for atom, size in SUMMED.items()}
BASES = 2


class World(NamedTuple):
    """For each base the addends of its sums over i and j: (base, i, j, *SHAPE)."""

    addends: np.ndarray

    def value(self, value):
        """What a formal sum stands for; zero is of any shape."""
        return sum(self.share(share) for share in value) if value else 0

    def share(self, share):
        cuts = {atom: (0, size) for atom, size in SUMMED.items()} | {label.atom: cut for label, cut in share.part}
        summed = self.addends[share.base, slice(*cuts["i"]), slice(*cuts["j"])].sum(axis=(0, 1))
        return summed[tuple(slice(*interval) for interval in share.region)]


WORLD = World(np.random.default_rng(0).integers(-9, 9, (BASES, *SUMMED.values(), *SHAPE)))


@st.composite
def intervals(draw, size, least=1):
    start = draw(st.integers(0, size - least))
    return start, draw(st.integers(start + least, size))


@st.composite
def parts(draw):
    found = []
    for atom in sorted(draw(st.sets(st.sampled_from(sorted(SUMMED))))):
        cut = draw(intervals(SUMMED[atom]))
        if cut != (0, SUMMED[atom]):
            found.append((LABELS[atom], cut))
    return tuple(found)


@st.composite
def values(draw, region=None):
    region = region or tuple(draw(intervals(size)) for size in SHAPE)
    pairs = draw(st.lists(st.tuples(st.integers(0, BASES - 1), parts()), max_size=4))
    return tuple(sorted(Share(base, region, part) for base, part in pairs))


@st.composite
def tilings(draw):
    """Cuts along i and j, and the boxes they make, in any order, with some left out."""
    boxes = [()]
    for atom, size in SUMMED.items():
        points = sorted({0, size, *draw(st.sets(st.integers(1, size - 1), max_size=3))})
        if len(points) > 2:
            boxes = [(*box, (LABELS[atom], cut)) for box in boxes for cut in pairwise(points)]
    boxes = draw(st.permutations(boxes))
    return boxes[: draw(st.integers(1, len(boxes)))], len(boxes)


REGION = ((1, 5), (0, 3))


@given(st.lists(values(REGION), max_size=3))
def test_a_sum_stands_for_the_sum(addends):
    total, _ = add(addends)
    np.testing.assert_array_equal(WORLD.value(total), sum(WORLD.value(value) for value in addends))
    assert list(total) == sorted(total)


@given(tilings())
def test_merged_parts_stand_for_the_same_and_a_whole_tiling_for_the_whole(tiling):
    boxes, all_of_them = tiling
    merged = merge_parts(boxes)
    shares = [tuple(Share(0, REGION, part) for part in some) for some in (boxes, merged)]
    np.testing.assert_array_equal(*[WORLD.value(value) for value in shares])
    assert (merged == ((),)) == (len(boxes) == all_of_them)


def test_parts_that_overlap_or_leave_a_gap_stay_apart():
    def part(*cut):
        return ((LABELS["i"], cut),)

    assert merge_parts([part(0, 4), part(4, 8)]) == ((),)
    assert merge_parts([part(0, 4), part(0, 4)]) == (part(0, 4), part(0, 4))
    assert merge_parts([part(0, 4), part(3, 8)]) == (part(0, 4), part(3, 8))
    assert merge_parts([part(0, 3), part(4, 8)]) == (part(0, 3), part(4, 8))
    assert merge_parts([part(0, 4), ((LABELS["j"], (3, 6)),)]) == (part(0, 4), ((LABELS["j"], (3, 6)),))


def test_parts_of_other_bases_regions_or_sums_never_merge():
    def share(base=0, region=REGION, cut=(0, 4), spread=0):
        return Share(base, region, ((LABELS["i"], cut),), spread)

    first, second = share(), share(cut=(4, 8))
    assert add([(first,), (second,)])[0] == (Share(0, REGION),)
    for other in (share(1, cut=(4, 8)), share(region=((0, 4), (0, 3)), cut=(4, 8)), share(cut=(4, 8), spread=2)):
        assert len(add([(first,), (other,)])[0]) == 2


@given(st.data())
def test_pieces_side_by_side_are_the_concatenation(data):
    dim = data.draw(st.integers(0, 1))
    value = data.draw(values())
    if not value:
        return
    size = value[0].region[dim][1] - value[0].region[dim][0]
    points = sorted({0, size, *data.draw(st.sets(st.integers(0, size), max_size=3))})
    pieces = [piece(value, dim, cut) for cut in pairwise(points)]
    found = concatenate(pieces, dim)
    assert found == value
    np.testing.assert_array_equal(np.concatenate([WORLD.value(p) for p in pieces], axis=dim), WORLD.value(found))


@given(st.lists(values(), min_size=1, max_size=3), st.integers(0, 1))
def test_a_concatenation_is_right_or_refused(pieces, dim):
    found = concatenate(pieces, dim)
    if found:
        np.testing.assert_array_equal(
            np.concatenate([WORLD.value(value) for value in pieces], axis=dim), WORLD.value(found)
        )


def test_pieces_in_another_order_or_twice_are_no_region():
    value = (Share(0, ((0, 6), (0, 4))),)
    low, high = piece(value, 0, (0, 3)), piece(value, 0, (3, 6))
    assert concatenate([low, high], 0) == value
    assert concatenate([high, low], 0) is None
    assert concatenate([low, low], 0) is None
    assert concatenate([low, ()], 0) is None
    assert concatenate([low, high], 1) is None


@given(st.integers(1, 40), st.integers(1, 12))
def test_chunks_are_those_of_torch(size, pieces):
    """torch.chunk: every chunk but the last has ceil(size / pieces) elements; there may be fewer chunks."""
    found = chunks(size, pieces)
    step = -(-size // pieces)
    assert [stop - start for start, stop in found[:-1]] == [step] * (len(found) - 1)
    assert [k for start, stop in found for k in range(start, stop)] == list(range(size))
    assert len(found) <= pieces
