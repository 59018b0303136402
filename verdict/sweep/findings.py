"""What a sweep found to differ, as findings: one for each cause, the earliest first, then what has no known cause."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from verdict.graph import Fault, Place, Plan
from verdict.graph.names import patterned
from verdict.graph.sources import cited_in
from verdict.outcome import Finding, joined
from verdict.sweep.compare import Different
from verdict.sweep.results import GRADIENT, LOSS, Missing
from verdict.sweep.swept import Runs, Swept
from verdict.sweep.why import (
    MOST_CAUSES,
    Cause,
    Change,
    Scene,
    State,
    Trail,
    causes,
    numbers,
    other_values,
    scene_of,
    trails,
)  # fmt: skip
from verdict.sweep.why.cone import readers_of
from verdict.sweep.why.messages import as_messages
from verdict.sweep.why.naming import BACKWARD
from verdict.sweep.why.words import node_line, node_text, operator_text, owner_lines, places_text, ranks_text
from verdict.words import listed

SHOWN = 8
"""How many places a finding about one output names; dots stand for the others."""
MOST_MENDED = 4
"""How many of the outputs that a correction mends are named; dots stand for the others."""
MOST_TRAINED = 2
"""How many gradients are named beside the place of a correction; dots stand for the others."""
MOST_LINES = 4
"""How many single-device nodes are shown beside a cause; the others are left out."""


class Told(NamedTuple):
    """A finding and what its correction mends. gradients: of these those, where its place is a line of a program."""

    finding: Finding
    gradients: tuple[str, ...]
    mends: tuple[str, ...]


def findings(single: Plan, parallel: Plan, swept: Swept, most: int = MOST_CAUSES) -> tuple[Finding, ...]:
    """The findings of a sweep whose outputs differ, or are held by nobody. most: causes that are looked for, or
    0 for none.
    """
    shaped = [item for item in swept.different if item.error == float("inf")]
    left: Sequence[Different] = [item for item in swept.different if item.error != float("inf")]
    found: list[Finding] = []
    begins: list[Finding] = []
    if left and most and swept.runs is not None:
        with np.errstate(all="ignore"):  # values of a wrong plan may be beyond floats
            found, begins, left = _explained(scene_of(swept.runs), swept.runs, left, most)
    return (*found, *begins, *_without_cause(shaped, left), *_missing(swept.missing))


def _explained(
    scene: Scene, runs: Runs, different: Sequence[Different], most: int
) -> tuple[list[Finding], list[Finding], Sequence[Different]]:
    """Findings with a cause, those that say where differences begin, and what is left without either."""
    known, state = causes(scene, State(runs.values[1], Change(), tuple(different)), most)
    known = [as_messages(scene, cause) for cause in known]
    others, left = other_values(scene, state)
    begun, unexplained = trails(scene, state, left)
    told = {cause.fix.at.name: _behind(trail) for cause in known for trail in begun if trail.at == cause.fix.at}
    found = list(_merged(_with_trails(_together(scene, (*known, *others)), told)))
    return found, [_begun(scene, trail) for trail in begun if trail.at.name not in told], unexplained


def _finding(scene: Scene, cause: Cause) -> Finding:
    fix = cause.fix
    ranks = sorted({rank for rank, _ in fix.instances})
    step = scene.step(fix.at.steps[fix.instances[0]])
    return Finding(
        fix.code,
        fix.title,
        f"{fix.at.name} on {places_text(scene, fix.instances)}",
        fix.notes,
        fix.help,
        len(fix.instances),
        numbers(scene, cause),
        Fault(tuple(dict.fromkeys(_places(scene, cause))), edits=fix.edits()),
        ranks=tuple(dict.fromkeys(rank % scene.parallel.devices for rank in ranks)),
        single=owner_lines(scene, fix.single)[:MOST_LINES],
        parallel=(f"{ranks_text(ranks)}: {node_line(scene, step)}",),
        kind=(step.op, *fix.kin),
    )


def _together(scene: Scene, found: Sequence[Cause]) -> list[Told]:
    """A finding for each cause; one that is the other side of an earlier one is told there."""
    told: list[tuple[Cause, Told]] = []
    for cause in found:
        own = Told(_finding(scene, cause), _trained(cause), tuple(item.result.what for item in cause.mends))
        for number, (first, known) in enumerate(told):
            if said := _other_side(scene, first, cause):
                both = joined(known.finding, [own.finding], [f"{said}: {own.finding.title}"])
                told[number] = first, Told(both, known.gradients, (*known.mends, *own.mends))
                break
        else:
            told.append((cause, own))
    return [own for _, own in told]


def _other_side(scene: Scene, first: Cause, then: Cause) -> str:
    """How a cause follows from an earlier one: what should be summed before is summed afterwards, or the gradient of
    a line is wrong as the line is; "" where it does not.
    """
    if (first.fix.code, then.fix.code) == ("missing-reduction", "reduced-twice"):
        behind = readers_of(scene, first.fix.change.values)
        if not behind.isdisjoint(then.fix.at.steps.values()):
            return "the sum comes too late"
    one, other = cited_in(first.fix.at.name), cited_in(then.fix.at.name)
    backward = BACKWARD in then.fix.at.name and BACKWARD not in first.fix.at.name
    return "its gradient likewise" if one is not None and one == other and backward else ""


def _trained(cause: Cause) -> tuple[str, ...]:
    """Whose gradients a correction of a recorded program mends: of what goes wrong at a line, that is what matters."""
    if cited_in(cause.fix.at.name) is None:
        return ()
    return tuple(dict.fromkeys(item.result.what for item in cause.mends if item.result.key[0] == GRADIENT))


def _with_extent(finding: Finding, about: Sequence[Told]) -> Finding:
    """A finding that names beside its place the gradients that it is about, and all that its correction mends."""
    gradients = tuple(dict.fromkeys(name for told in about for name in told.gradients))
    mends = tuple(dict.fromkeys(name for told in about for name in told.mends))
    names = patterned(gradients)
    count = f", {len(gradients)} in all" if len(gradients) > len(names) or len(names) > MOST_TRAINED else ""
    extent = f" ({listed(names, MOST_TRAINED)}{count})" if names else ""
    agree = "agrees" if len(mends) == 1 else "agree"
    note = f"with that put right, {listed(patterned(mends), MOST_MENDED)} {agree} with the single-device plan"
    return replace(finding, where=finding.where + extent, notes=(*finding.notes, note))


def _places(scene: Scene, cause: Cause) -> Iterator[Place]:
    """Where the nodes that are to blame stand in the plan."""
    for instance in cause.fix.instances:
        step = scene.step(cause.fix.at.steps[instance])
        device = step.place.rank % scene.parallel.devices
        yield Place(device, step.place.microbatch, step.place.name, operator_text(scene, step))


def _merged(found: Iterable[Told]) -> Iterator[Finding]:
    """Findings of one code and kind as one, the earliest, which names the other places; so are those of one code at one
    line of a program, whatever operators that runs: the gradients of a weight and of its bias.
    """
    groups: list[list[Told]] = []
    for told in found:
        group = next((group for group in groups if any(_same(one.finding, told.finding) for one in group)), None)
        if group is None:
            groups.append([told])
        else:
            group.append(told)
    for first, *others in groups:
        line = cited_in(first.finding.where)
        here = [told for told in others if line is not None and cited_in(told.finding.where) == line]
        elsewhere = [_with_extent(told.finding, [told]) for told in others if told not in here]
        notes = [f"the same at {other.where}: {other.title}" for other in elsewhere]
        yield joined(_with_extent(first.finding, [first, *here]), [told.finding for told in others], notes)


def _same(one: Finding, other: Finding) -> bool:
    if one.code != other.code:
        return False
    line, further = cited_in(one.where), cited_in(other.where)
    return one.kind == other.kind or (
        line is not None and further is not None and line[:2] == further[:2] and _kin(one) == _kin(other)
    )


def _kin(finding: Finding) -> Hashable:
    """What findings of one kind have in common, besides the operator."""
    return finding.kind[1:] if isinstance(finding.kind, tuple) else finding.kind


def _begun(scene: Scene, trail: Trail) -> Finding:
    """A finding about outputs of which no correction is known: where the way to them begins."""
    step, instances = scene.step(trail.at.first), tuple(trail.at.steps)
    whats = list(dict.fromkeys(item.result.what for item in trail.behind))
    differ = "differs" if len(whats) == 1 else "differ"
    node = node_text(scene, step)
    return Finding(
        "not-equivalent",
        f"{node} makes what the single-device plan has nowhere, and {listed(whats, MOST_TRAINED)} {differ}",
        f"{trail.at.name} on {places_text(scene, instances)}",
        (
            _size(trail.behind),
            f"what lies behind it: {_behind(trail)}",
            "no single correction is known that mends them: these are the first values on the way that are none of the "
            "single-device plan's",
        ),
        extent=len(instances),
        ranks=tuple(dict.fromkeys(rank % scene.parallel.devices for rank, _ in sorted(instances))),
        parallel=(f"{ranks_text(rank for rank, _ in instances)}: {node_line(scene, step)}",),
        kind=(step.op, trail.at.name),
    )


def _behind(trail: Trail) -> str:
    return listed(list(dict.fromkeys(item.result.what for item in trail.behind)), SHOWN)


def _with_trails(found: Sequence[Told], told: Mapping[str, str]) -> Iterator[Told]:
    """Findings, with what else lies behind their places and differs still. told: by the name of a place."""
    for one in found:
        behind = next((text for name, text in told.items() if one.finding.where.startswith(name)), "")
        notes = [f"behind it differs, too: {behind}"] if behind else []
        yield one._replace(finding=joined(one.finding, [], notes))


def _size(items: Sequence[Different]) -> str:
    worst = max(items, key=lambda item: item.error)
    return f"off by up to {worst.error:.3g}, where the greatest element is {worst.size:.3g}"


def _without_cause(shaped: Sequence[Different], left: Sequence[Different]) -> Iterator[Finding]:
    """One finding for each output that differs, wherever it does."""
    for code, items in (("shape-mismatch", shaped), ("not-equivalent", left)):
        grouped: dict[str, list[Different]] = defaultdict(list)
        for item in items:
            grouped[item.result.what].append(item)
        for what, same in grouped.items():
            places = [item.result.where for item in same]
            shown = listed(places, SHOWN, "; ")
            size = _size(same)
            title = f"{what} is not what the single-device plan computes"
            if code == "shape-mismatch":
                title, size = f"{what} has another shape than its region of the single-device output", ""
            notes = tuple(note for note in (size, shown) if note)
            yield Finding(code, title, what, notes, extent=len(same))


def _missing(missing: Sequence[Missing]) -> Iterator[Finding]:
    """One finding for each output that nobody holds."""
    for kind, what in missing:
        code = {LOSS: "loss-missing", GRADIENT: "gradient-missing"}.get(kind, "output-missing")
        yield Finding(code, f"nobody declares all of: {what}", what)
