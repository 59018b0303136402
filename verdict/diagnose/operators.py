"""Results that are made by another operator than on the single device.

The walk can say nothing of a node that no single-device node is like. Where it makes a declared result, and the
single-device node that makes the same result has another operator, numbers decide whether that matters.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from verdict.diagnose.choose import UNFIT, random_like, simplest
from verdict.diagnose.counter import Pair, counterexample
from verdict.diagnose.recipe import apply, mismatches
from verdict.diagnose.scene import Scene
from verdict.graph import ABSENT, ONCE_A_STEP, Node, Place
from verdict.graph.lockstep import RECV
from verdict.graph.names import alike
from verdict.lineage import Evidence, Member, Value
from verdict.lineage.reference import Bases
from verdict.ops import FACTS, RULES, Array
from verdict.outcome import Counterexample, Finding
from verdict.stage import Sums, instead_of
from verdict.words import ranks_text

POINTS = 4
"""At how many random points two operators are compared: one shows that they differ, all must show a factor."""


_Partners = defaultdict[tuple[tuple[Bases, ...], str], list[int]]


class _Maker(NamedTuple):
    """The node that makes a declared result. added: whether its results are added up over ranks on the way."""

    device: int
    node: Node
    added: bool


def other_operators(scene: Scene) -> Iterator[Finding]:
    """One finding for each declared result that another operator makes, and makes otherwise."""
    partners = _partners(scene)
    made: dict[tuple[str, str], list[_Maker]] = {}
    for held in (*scene.parallel.losses, *scene.parallel.gradients):
        maker = _maker(scene, held.device, held.tensor)
        if maker is not None:
            made.setdefault((maker.node.op, maker.node.name), []).append(maker)
    for makers in made.values():
        finding = _compared(scene, makers, partners)
        if finding is not None:
            yield finding


def _maker(scene: Scene, device: int, tensor: int) -> _Maker | None:
    """The node that makes a result, behind copies, messages and sums over ranks."""
    added, seen = False, set[tuple[int, int]]()
    while (device, tensor) not in seen:
        seen.add((device, tensor))
        source = scene.made(device, tensor)
        if source is None:
            return None
        if source.node.op == "all_reduce":
            added, tensor = True, source.node.inputs[0]
        elif source.node.op == RECV and source.sent != ABSENT:
            device, tensor = source.sender, source.sent
        else:
            return _Maker(device, source.node, added)
    return None


def _compared(scene: Scene, makers: list[_Maker], partners: _Partners) -> Finding | None:
    device, node, added = makers[0]
    values = tuple(scene.held(device, tensor) if tensor != ABSENT else () for tensor in node.inputs)
    partner = _partner(scene, node, values, partners)
    if partner is None or node.op not in RULES:
        return None
    single = scene.reference.partners[partner]
    averages = FACTS.averages(node.op, single.node.op)
    if added and not averages:
        return None
    regions = tuple(value[0].region if value else None for value in values)
    try:
        unclaimed = (None,) * len(single.outputs)
        sums = instead_of(single.meaning, Member(single.signature, node.attrs, regions, unclaimed), node.op)
        differs, ratio = _differs(sums)
    except UNFIT:
        return None
    if not differs:
        return None
    ranks = tuple(sorted({maker.device for maker in makers}))
    code = "mean-instead-of-sum" if averages else "operator-differs"
    title = f"{node.op} {node.name} where the single device has {single.node.op}, on {ranks_text(ranks)}"
    off = () if ratio is None else (f"in the numbers shown, it is {ratio} times what it must be",)
    place = Place(device, ONCE_A_STEP, node.name, node.op)
    return Finding(
        code,
        title,
        place.spelled,
        off,
        help=f"use {single.node.op}, as the single device does",
        extent=len(makers),
        evidence=Evidence((place,), (node.outputs[0],), partner=partner),
        ranks=ranks,
        modules=(scene.module(partner),),
        single=(scene.single_line(partner),),
        parallel=scene.parallel_lines([(maker.device, maker.node) for maker in makers]),
        counterexample=_shown(scene, sums, partner, ranks),
        kind=(node.op, single.node.op, alike(node.name)),
    )


def _partners(scene: Scene) -> _Partners:
    """The single-device nodes that make something, by what they read and by the name of what they make."""
    found = _Partners(list)
    for index, partner in enumerate(scene.reference.partners):
        if partner.outputs[:1] not in ((), (ABSENT,)):
            made = scene.single.tensors[partner.node.outputs[0]].logical
            found[partner.inputs, scene.single.logicals[made].name].append(index)
    return found


def _partner(scene: Scene, node: Node, values: tuple[Value | None, ...], partners: _Partners) -> int | None:
    """The single-device node of another operator that reads the same and makes what this node says it makes."""
    if None in values:
        return None
    bases = tuple(tuple(share.base for share in value or ()) for value in values)
    found = partners.get((bases, scene.name(node.outputs[0])), ())
    return next((index for index in found if scene.reference.partners[index].node.op != node.op), None)


def _differs(sums: Sums) -> tuple[bool, Fraction | None]:
    """Whether the two operators differ at random points, and by which factor if it is one."""
    ratios: set[Fraction | None] = set()
    differs = False
    for seed in range(POINTS):
        inputs = random_like(sums.inputs, sums.choices, seed)
        one, other = apply(sums.whole, inputs), apply(sums.parts[0], inputs)
        if one.shape != other.shape:
            return False, None
        differs = differs or bool(mismatches(one, other).any())
        ratios.update(_ratio(a, b) for a, b in zip(one.flat, other.flat, strict=True))
    return differs, next(iter(ratios)) if len(ratios) == 1 else None


def _ratio(a: object, b: object) -> Fraction | None:
    return Fraction(b) / Fraction(a) if isinstance(a, int | Fraction) and isinstance(b, int | Fraction) and a else None


def _shown(scene: Scene, sums: Sums, partner: int, ranks: tuple[int, ...]) -> Counterexample | None:
    def shows(inputs: Sequence[Array]) -> bool:
        return bool(mismatches(apply(sums.whole, inputs), apply(sums.parts[0], inputs)).any())

    inputs = simplest(sums.inputs, sums.choices, shows)
    if inputs is None:
        return None
    single = scene.reference.partners[partner]
    name = scene.bases[single.outputs[0]].name
    pair = Pair(name, sums.whole, ranks_text(ranks), sums.parts[0])
    labels = [scene.sum_of(value) for value in single.inputs]
    return counterexample(labels, inputs, [pair], "at reduced shapes, for one column of the batch")
