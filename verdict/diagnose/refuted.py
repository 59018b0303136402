"""Refuted stages: which attribute, which operator, which factor is wrong.

An attribute is to blame where the node with the single-device value in its place is right at the very point that
refutes it. A factor is one where, at several random exact points, every element is off by the same ratio.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from verdict.diagnose.case import WALK, Case, Wrong
from verdict.diagnose.choose import UNFIT, random_like
from verdict.diagnose.recipe import apply, mismatches
from verdict.diagnose.scene import Scene
from verdict.graph import Attrs, Place
from verdict.lineage import Evidence
from verdict.ops import Array
from verdict.outcome import Finding, Refuted
from verdict.stage import Members, Occurrence, Replay, Stage, replay
from verdict.words import ranks_text

POINTS = 4
"""At how many random points a constant ratio is asked for."""


class Blame(NamedTuple):
    """Why a member is wrong. attrs: (name, expected, found) of the attributes that mend it. ratio: None if none."""

    attrs: tuple[tuple[str, object, object], ...]
    ratio: Fraction | None


def refuted_cases(scene: Scene) -> Iterator[Case]:
    """One case for each occurrence of a refuted stage. A gradient node has its forward node's key, if its reason."""
    for stage, outcome in dict(zip(scene.stages.questions, scene.outcomes, strict=True)).items():
        if not isinstance(outcome, Refuted):
            continue
        if not isinstance(stage, Members):
            yield _law(stage, outcome)
            continue
        for blame, members in _blames(scene, stage, outcome).items():
            for occurrence in scene.stages.occurrences:
                if occurrence.stage == stage:
                    yield _case(scene, occurrence, outcome, blame, members)


def _law(stage: Stage, outcome: Refuted) -> Case:
    op = stage.signature.op
    title = f"{op} does not add up over its shares"
    if type(stage).__name__ == "IgnoredLaw":
        title = f"{op} depends on a value that was taken for irrelevant"
    finding = Finding("law-fails", title, f"{type(stage).__name__} of {op}", values=outcome.mismatches)
    return Case(finding, ("law", stage), (WALK, 0))


def _case(scene: Scene, occurrence: Occurrence, outcome: Refuted, blame: Blame, members: tuple[int, ...]) -> Case:
    stage, partner = occurrence.stage, occurrence.partner
    places = tuple(sorted((place for k in members for place in occurrence.places[k]), key=lambda place: place.device))
    code, title, notes = _words(scene, occurrence, blame, places)
    place = places[0]
    nodes = [(p.device, node) for p in places if (node := scene.node_at(p)) is not None]
    finding = Finding(
        code,
        title,
        place.spelled,
        notes,
        extent=len(places),
        values=outcome.mismatches,
        evidence=Evidence(places, (), partner=partner),
        ranks=tuple(sorted({p.device for p in places})),
        modules=(scene.module(partner),),
        single=(scene.single_line(partner),),
        parallel=scene.parallel_lines(nodes),
    )
    op = stage.signature.op.removesuffix(".grad")
    cause: object = (op, blame.attrs) if blame.attrs else (stage.signature.op, scene.alike(partner), blame.ratio)
    outputs = frozenset(base for base in scene.reference.partners[partner].outputs if base >= 0)
    return Case(
        finding,
        (code, cause),
        (WALK, partner),
        outputs,
        names=frozenset(p.name for p in places),
        refuted=Wrong(occurrence, outcome, members),
        op=place.op,
    )


def _words(
    scene: Scene, occurrence: Occurrence, blame: Blame, places: Sequence[Place]
) -> tuple[str, str, tuple[str, ...]]:
    op = occurrence.stage.signature.op
    ranks = sorted({place.device for place in places})
    holders = sorted({place.device for found in occurrence.places for place in found})
    where = f"on {ranks_text(ranks)}" if ranks != holders else "on all ranks that compute it"
    off = f"what it computes is off by the factor {blame.ratio}" if blame.ratio is not None else ""
    if blame.attrs:
        text = ", ".join(f"{name} is {found!r}, expected {due!r}" for name, due, found in blame.attrs)
        return "wrong-constant", f"{op}: {text}, {where}", (off,) if off else ()
    if blame.ratio is not None:
        return "wrong-scale", f"{op} computes {blame.ratio} times what the single device does, {where}", ()
    return "not-equivalent", f"{op} computes something else than its single-device partner, {where}", ()


def _blames(scene: Scene, stage: Members, outcome: Refuted) -> dict[Blame, tuple[int, ...]]:
    wrong = sorted(outcome.members | _wrong_somewhere(scene, stage))
    found: dict[Blame, list[int]] = {}
    for member in wrong:
        found.setdefault(_blame(scene, stage, member, outcome), []).append(member)
    return {blame: tuple(members) for blame, members in found.items()}


def on_numbers(stage: Members, columns: int, values: Mapping[str, Fraction], exhaustive: bool = False) -> Replay:
    """The stage on numbers, at the sizes at which it was refuted: those at which both sides have one shape."""
    point = replay(stage, columns, values, exhaustive)
    try:
        fits = all(
            apply(e.single, point.inputs).shape == apply(e.parallel, point.inputs).shape for e in point.equations
        )
    except UNFIT:
        return point
    return point if fits else replay(stage, columns, values, exhaustive, apart=False)


def _wrong_somewhere(scene: Scene, stage: Members) -> set[int]:
    """The members that are wrong at some random point: one point may show a few of them only."""
    found: set[int] = set()
    for seed in range(POINTS):
        try:
            point = _random(on_numbers(stage, scene.reference.columns, {}), seed)
            for member in range(len(stage.members)):
                if any(one.shape != two.shape or mismatches(one, two).any() for one, two in _pairs(point, member)):
                    found.add(member)
        except UNFIT:
            continue
    return found


def _blame(scene: Scene, stage: Members, member: int, outcome: Refuted) -> Blame:
    columns = scene.reference.columns
    own, due = dict(stage.members[member].attrs), dict(stage.signature.attrs)
    apart = [name for name in sorted(own.keys() | due.keys()) if own.get(name) != due.get(name)]
    ratio = _ratio(stage, member, columns)
    for names in (*((name,) for name in apart), tuple(apart)):
        if names and _mended(stage, member, columns, names, outcome):
            return Blame(tuple((name, due.get(name), own.get(name)) for name in names), ratio)
    return Blame((), ratio)


def _mended(stage: Members, member: int, columns: int, names: Sequence[str], outcome: Refuted) -> bool:
    """Whether the member is right, at the point that refutes it, with the single-device values of `names`."""
    attrs = {**dict(stage.members[member].attrs)}
    for name in names:
        attrs.pop(name, None)
    attrs.update({name: value for name, value in stage.signature.attrs if name in names})
    mended: Attrs = tuple(sorted(attrs.items()))
    members = (*stage.members[:member], stage.members[member]._replace(attrs=mended), *stage.members[member + 1 :])
    try:
        point = on_numbers(stage._replace(members=members), columns, dict(outcome.witness))
        pairs = [pair for seed in range(POINTS) for pair in _pairs(_random(point, seed) if seed else point, member)]
    except UNFIT:
        return False
    return bool(pairs) and all(one.shape == two.shape and not mismatches(one, two).any() for one, two in pairs)


def _ratio(stage: Members, member: int, columns: int) -> Fraction | None:
    """By what all that a member writes is off, at several random exact points; None where no one number tells."""
    ratios: set[Fraction] = set()
    for seed in range(POINTS):
        try:
            point = _random(on_numbers(stage, columns, {}), seed)
            for single, parallel in _pairs(point, member):
                if single.shape != parallel.shape:
                    return None
                for a, b in zip(single.flat, parallel.flat, strict=True):
                    if a == 0 and b == 0:
                        continue
                    if a == 0 or isinstance(a, float) or isinstance(b, float):
                        return None
                    ratios.add(Fraction(b) / Fraction(a))
        except UNFIT:
            return None
        if len(ratios) > 1:
            return None
    return next((ratio for ratio in ratios if ratio != 1), None)


def _random(point: Replay, seed: int) -> Replay:
    """The stage at another point: small random numbers, of one seed."""
    return point._replace(inputs=random_like(point.inputs, point.choices, seed))


def _pairs(point: Replay, member: int) -> Iterator[tuple[Array, Array]]:
    for equation in point.equations:
        if equation.spot.member == member:
            yield apply(equation.single, point.inputs), apply(equation.parallel, point.inputs)
