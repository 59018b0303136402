"""Shares that are cut in another way: one piece where a piece of each block is due, or those of a ring."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from verdict.ops import RULES
from verdict.sweep.elements import Ids, Kind
from verdict.sweep.flow import PIECE, Step
from verdict.sweep.match import Known
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.missing import values_of
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Instance, Siblings
from verdict.sweep.why.words import elements_text, node_text, owners, places_text


class Share(NamedTuple):
    """A piece of a whole along one axis, of which there are so many as it fits in. block: where the whole begins."""

    block: int
    axis: int
    start: int
    stop: int
    size: int
    ids: Ids

    @property
    def width(self) -> int:
        """How many rows it has."""
        return self.stop - self.start


class Cut(NamedTuple):
    """Another way to cut. name: in words. rows: of each share, in the order of the shares."""

    name: str
    rows: Sequence[Sequence[int]]


def layouts(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """What steps take of a value, or read of what is given, with the shares cut out of the whole in another way."""
    first = scene.step(at.first)
    if _takes(first):
        for position in range(len(first.outputs)):
            values = values_of(scene, at, position)
            read = {place: value for place, value in values.items() if scene.readers.get(value)}
            yield from _cut_otherwise(scene, state, at, read, given=False)
        return
    for k, value in enumerate(first.inputs):
        if value not in scene.maker:
            read = {place: scene.step(number).inputs[k] for place, number in at.steps.items()}
            yield from _cut_otherwise(scene, state, at, read, given=True)


def _takes(step: Step) -> bool:
    rule = RULES.get(step.op)
    return step.op == PIECE or (rule is not None and rule.moves)


def _cut_otherwise(
    scene: Scene, state: State, at: Siblings, values: Mapping[Instance, int], given: bool
) -> Iterator[Fix]:
    found = {place: _share(scene, state, value) for place, value in values.items()}
    shares = {place: share for place, share in found.items() if share is not None}
    first = next(iter(shares.values()), None)
    if first is None or len(shares) < len(found):
        return
    alike = all(own._replace(start=0, stop=own.width, ids=first.ids) == _at_zero(first) for own in shares.values())
    whole = _whole(scene, first.block) if alike else None
    if whole is None:
        return
    for cut in _cuts(first):
        due = {place: cut.rows[share.start // share.width] for place, share in shares.items()}
        made = {
            place: tuple(np.take(array, rows, axis=first.axis) for array in whole.values) for place, rows in due.items()
        }
        change = Change({values[place]: arrays for place, arrays in made.items()})
        if given:
            change = Change({}, {(values[place], place[0]): arrays for place, arrays in made.items()})
        place = next(iter(shares))
        node, where = node_text(scene, scene.step(at.steps[place])), places_text(scene, (place,))
        rows = ", ".join(f"{a}:{b}" for a, b in _runs(due[place]))
        takes = f"takes {elements_text(scene, shares[place].ids)}"
        title = f"{node} on {where} {takes}, one piece, where {cut.name}, {rows} along axis {first.axis}, is due"
        single = owners(scene, first.ids)
        yield Fix("wrong-slice", title, at, tuple(shares), change, single=single, help=f"take {cut.name}, {rows}")


def _at_zero(share: Share) -> Share:
    return share._replace(start=0, stop=share.width)


def _share(scene: Scene, state: State, value: int) -> Share | None:
    """What a value is a piece of, where it is one along one axis, and as large as the others of the same whole."""
    ids = state.look(scene, value)
    blocks = scene.elements.blocks_of(ids) if ids is not None and ids.size else []
    if ids is None or len(blocks) != 1 or blocks[0].kind is Kind.CONSTANT or ids.ndim != len(blocks[0].shape):
        return None
    block = blocks[0]
    start = np.unravel_index(int(ids.flat[0]) - block.start, block.shape)
    cut = [axis for axis in range(ids.ndim) if ids.shape[axis] < block.shape[axis]]
    if len(cut) != 1:
        return None
    axis = cut[0]
    first, width, size = int(start[axis]), ids.shape[axis], block.shape[axis]
    box = tuple(slice(first, first + width) if k == axis else slice(None) for k in range(ids.ndim))
    all_of_it = np.arange(block.start, block.start + int(np.prod(block.shape)), dtype=np.int64).reshape(block.shape)
    if size % width or first % width or not np.array_equal(all_of_it[box], ids):
        return None
    return Share(block.start, axis, first, first + width, size, ids)


def _whole(scene: Scene, block: int) -> Known | None:
    return next((item for item in scene.catalogue.known if int(item.ids.flat[0]) == block), None)


def _cuts(share: Share) -> Iterator[Cut]:
    """A piece of each of several blocks for each share; two pieces for each, from both ends."""
    width, size, count = share.width, share.size, share.size // share.width
    for blocks in (n for n in range(2, width + 1) if width % n == 0):
        each, block = width // blocks, size // blocks
        rows = [[b * block + k * each + i for b in range(blocks) for i in range(each)] for k in range(count)]
        yield Cut(f"a piece of each of {blocks} blocks", rows)
    if width % 2 == 0:
        half = width // 2
        ends = [(k, 2 * count - 1 - k) for k in range(count)]
        yield Cut("a piece of either end", [[c * half + i for c in pair for i in range(half)] for pair in ends])


def _runs(rows: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Rows in runs of neighbours."""
    start = 0
    for k in range(1, len(rows) + 1):
        if k == len(rows) or rows[k] != rows[k - 1] + 1:
            yield rows[start], rows[k - 1] + 1
            start = k
