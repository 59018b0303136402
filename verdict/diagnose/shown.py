"""Which counterexample belongs to which finding: of a refuted stage, of a sum, of an order, of a formal sum."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import gcd

import numpy as np

from verdict.diagnose.choose import simplest
from verdict.diagnose.counter import NotShown, Pair, counterexample
from verdict.diagnose.recipe import apply, mismatches
from verdict.diagnose.refuted import on_numbers
from verdict.diagnose.scene import Scene
from verdict.errors import ShapeError
from verdict.graph import ABSENT, Interval, Region, Shape, extent, inside, spelled
from verdict.lineage import Evidence, Share
from verdict.lineage.columns import SUMMED
from verdict.lineage.values import OVER_MICROBATCHES, OVER_REPLICAS
from verdict.ops import Array
from verdict.outcome import CONCATENATE, Applied, Box, Counterexample, Recipe, Refuted
from verdict.solver import InternalError
from verdict.stage import Equation, Members, Occurrence, Sums, columns_of, parts_of
from verdict.words import ranks_text

MOST_PAIRS = 4
"""How many blocks that differ, or parts of an axis, one counterexample shows; the others are left out."""
MOST_ELEMENTS = 64
"""A counterexample with more elements in one block is for nobody to read."""


def of_stage(scene: Scene, occurrence: Occurrence, outcome: Refuted, members: Sequence[int]) -> Counterexample | None:
    """The point that refutes a stage, run through both sides of it; None where no block of it can be shown.

    A rule that leaves a function uninterpreted is refuted for some such function; where the function that stands for
    it on numbers shows no difference at that point, there are no numbers to show; nor are there where one side looks up
    what is not there, and where the difference is less than rounding.
    """
    stage: Members = occurrence.stage
    point = on_numbers(stage, scene.reference.columns, dict(outcome.witness), scene.exhaustive)
    wrong = {mismatch.goal for mismatch in outcome.mismatches}
    found = [e for e in point.equations if e.spot in wrong and e.spot.member in members]
    equations = list({(e.spot.member, e.spot.output): e for e in reversed(found)}.values())[::-1][:MOST_PAIRS]
    if not equations:
        return None
    partner = scene.reference.partners[occurrence.partner]
    pairs = []
    for equation in equations:
        base = partner.outputs[equation.spot.output]
        ranks = sorted({place.device for place in occurrence.places[equation.spot.member]})
        of = scene.bases[base].name if base != ABSENT else f"output {equation.spot.output}"
        pairs.append(Pair(f"{of}{_column(stage, equation)}", equation.single, ranks_text(ranks), equation.parallel))
    labels = [scene.sum_of(value) for value in partner.inputs]
    first = equations[0].spot
    claim = stage.members[first.member].claims[first.output]
    region = spelled(claim.region) if claim is not None else "a share"
    at = f"at reduced shapes; at full size it is {region} of one column of the batch"
    try:
        return counterexample(labels, point.inputs, pairs, at)
    except InternalError:
        if not partner.meaning.uninterpreted:
            raise
        return None
    except (ArithmeticError, IndexError, ShapeError, NotShown):
        return None


def _column(stage: Members, equation: Equation) -> str:
    return f", column {equation.spot.column}" if any(column >= 0 for column in stage.signature.columns) else ""


def of_value(scene: Scene, about: Evidence) -> Counterexample | None:
    """What a tensor holds against what it must hold, in numbers; None where no numbers tell it."""
    value = about.value
    if value is None or not about.expected or about.shard or any(share.shard for share in value):
        return None
    share = next((share for share in value if share.part), None)
    if share is not None:
        return _of_parts(scene, share)
    due = Counter(about.expected)
    held = Counter(share.base for share in value)
    if held == due and all(share.region == about.region for share in value):
        return _of_columns(scene, about)
    if len(value) > len(about.expected) and set(held) == set(due):
        pieces = tuple(share for share in value if share.base == about.expected[0])
        parted = extent(about.region) not in {extent(share.region) for share in pieces}
        if parted and len(pieces) == len({share.region for share in pieces}) > 1:
            return _of_order(scene, about, pieces)
    return _of_sum(scene, about)


def _of_parts(scene: Scene, share: Share) -> Counterexample | None:
    """A node, whole on the single device, and summed over a part of its index axis on each rank."""
    label = share.part[0][0]
    ranks: dict[Interval, set[int]] = {}
    for device, held in enumerate(scene.walks[0].held):
        for value in held.values():
            for other in value or ():
                if other.base == share.base:
                    for known, interval in other.part:
                        if known == label:
                            ranks.setdefault(interval, set()).add(device)
    intervals = tuple(sorted(ranks))[:MOST_PAIRS]
    partner = scene.reference.partners[label.node]
    sums = parts_of(partner.meaning, label.output, label.atom, intervals)
    base = partner.outputs[label.output]
    name = scene.bases[base].name
    rows = [f"{ranks_text(sorted(ranks[cut]))} ({cut[0]}:{cut[1]} of {label.atom})" for cut in intervals]
    note = "" if base == share.base else f"; {scene.bases[share.base].name} is computed from it"
    at = f"{partner.node.op} {partner.node.name} at reduced shapes, for one column of the batch{note}"
    return _shown(sums, [scene.sum_of(value) for value in partner.inputs], name, rows, at)


def _of_columns(scene: Scene, about: Evidence) -> Counterexample | None:
    """A sum over the batch of which a rank has only its own column."""
    value = about.value or ()
    share = next((s for s in value if scene.bases[s.base].column == SUMMED), None)
    if share is None:
        return None
    base = scene.bases[share.base]
    meaning = scene.reference.partners[base.node].meaning if base.node != ABSENT else None
    sums = columns_of(meaning, base.output, 2) if meaning is not None else None
    if sums is None:
        return None
    partner = scene.reference.partners[base.node]
    at = f"{partner.node.op} {partner.node.name} at reduced shapes; two columns of the batch stand for all"
    labels = [scene.sum_of(read) for read in partner.inputs]
    return _shown(sums, labels, base.name, ["column 0 of the batch", "column 1 of the batch"], at)


def _shown(sums: Sums, labels: Sequence[str], name: str, rows: Sequence[str], at: str) -> Counterexample | None:
    def shows(inputs: Sequence[Array]) -> bool:
        whole = apply(sums.whole, inputs)
        return all(bool(mismatches(whole, apply(part, inputs)).any()) for part in sums.parts)

    inputs = simplest(sums.inputs, sums.choices, shows)
    if inputs is None:
        return None
    pairs = [Pair(name, sums.whole, row, part) for row, part in zip(rows, sums.parts, strict=True)]
    return counterexample(labels, inputs, pairs, at)


def _of_order(scene: Scene, about: Evidence, pieces: tuple[Share, ...]) -> Counterexample | None:
    """Pieces of one tensor that are joined in another order."""
    apart = [k for k, cuts in enumerate(zip(*(share.region for share in pieces), strict=True)) if len(set(cuts)) > 1]
    if len(apart) != 1:
        return None
    (dim,) = apart
    cuts = [share.region[dim] for share in pieces]
    low = min(start for start, _ in cuts)
    unit = gcd(*(stop - start for start, stop in cuts))
    size = sum(stop - start for start, stop in cuts) // unit
    if size > MOST_ELEMENTS:
        return None
    rank = len(about.region)
    shape = tuple(size if k == dim else 1 for k in range(rank))
    whole = np.array([Fraction(k + 1) for k in range(size)], dtype=object).reshape(shape)
    boxes = [
        tuple(((start - low) // unit, (stop - low) // unit) if k == dim else (0, 1) for k in range(rank))
        for start, stop in cuts
    ]
    joined = Applied(CONCATENATE, tuple((0, box) for box in boxes), (("dim", dim),))
    name = scene.bases[about.expected[0]].name
    ranks = ranks_text([about.places[0].device])
    at = f"each number stands for {unit} of {extent(about.region)[dim]} along dimension {dim}"
    return counterexample([name], [whole], [Pair(name, (Applied("", ((0, ()),)),), ranks, (joined,))], at)


def _of_sum(scene: Scene, about: Evidence) -> Counterexample | None:
    """A formal sum against the one that is due, each single-device value an input of its own."""
    value, device = about.value or (), about.places[0].device
    bases = sorted({*about.expected, *(share.base for share in value)})
    dims = {len(share.region) for share in value} | {len(about.region)}
    if len(dims) != 1 or {extent(share.region) for share in value} - {extent(about.region)}:
        return None
    shapes = {base: scene.reference.column_shape(base) for base in bases}
    if not all(inside(about.region, shapes[base]) for base in about.expected):
        return None
    regions = [about.region, *(share.region for share in value)]
    units = [_unit(k, regions, [shape[k] for shape in shapes.values()], k == len(about.region) - 1)
             for k in range(len(about.region))]  # fmt: skip
    small = {base: tuple(size // unit for size, unit in zip(shapes[base], units, strict=True)) for base in bases}
    if any(int(np.prod(shape)) > MOST_ELEMENTS for shape in small.values()):
        return None
    held = Counter((share.base, share.region) for share in value for _ in range(_times(scene, share)))
    due = Counter((base, about.region) for base in about.expected)
    active = {base for base, _ in (held - due) + (due - held)}
    place = {base: k for k, base in enumerate(bases)}
    single = _sum(due, place, units)
    parallel = _sum(held, place, units) or _sum(due, place, units, Fraction(0))
    shown = [(small[base], base in active) for base in bases]
    inputs = _numbered(shown, 0)
    if not mismatches(apply(single, inputs), apply(parallel, inputs)).any():
        inputs = _numbered(shown, 1 + max(held.total(), due.total()))
    name = scene.sum_of(about.expected)
    at = f"each number stands for a block of {list(units)} elements of {spelled(about.region)}"
    pair = Pair(name, single, f"rank {device}", parallel)
    return counterexample([scene.bases[base].name for base in bases], inputs, [pair], at)


def _numbered(arrays: Sequence[tuple[Shape, bool]], base: int) -> list[Array]:
    """Arrays of these shapes of the numbers from 1 on, zeros where they do not matter. base: where it is not 0, of its
    powers in place of those numbers: no two sums of fewer than so many of these are the same, as 1 + 2 and 3 are.
    """
    found, count = [], 0
    for shape, counts in arrays:
        size = int(np.prod(shape)) if counts else 0
        numbers = [Fraction(base**k if base else k + 1) for k in range(count, count + size)]
        found.append(np.array(numbers or [Fraction(0)] * int(np.prod(shape)), dtype=object).reshape(shape))
        count += size
    return found


def _times(scene: Scene, share: Share) -> int:
    """How often a share is counted, that is no sum over the batch and was added up over it."""
    if scene.bases[share.base].column == SUMMED:
        return 1
    times = scene.parallel.replicas if share.spread & OVER_REPLICAS else 1
    return times * (scene.parallel.microbatches if share.spread & OVER_MICROBATCHES else 1)


def _unit(k: int, regions: Sequence[Region], sizes: Sequence[int], halved: bool) -> int:
    """How many elements along a dimension one number can stand for; half of it, so that there are two, if asked."""
    unit = gcd(*sizes, *(point for region in regions for point in region[k]))
    return unit // 2 if halved and unit % 2 == 0 and unit in sizes else unit


def _sum(
    terms: Counter[tuple[int, Region]], place: dict[int, int], units: Sequence[int], factor: Fraction = Fraction(1)
) -> Recipe:
    return tuple(
        Applied("", ((place[base], _scaled(region, units)),), factor=factor * times)
        for (base, region), times in sorted(terms.items())
    )


def _scaled(region: Region, units: Sequence[int]) -> Box:
    return tuple((start // unit, stop // unit) for (start, stop), unit in zip(region, units, strict=True))
