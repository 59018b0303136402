"""What a sweep found to differ, as findings: one for each cause, the earliest first, then what has no known cause."""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence

from verdict.graph import Fault, Place, Plan
from verdict.graph.sources import cited_in
from verdict.outcome import Finding, joined
from verdict.sweep.compare import Different
from verdict.sweep.results import GRADIENT, LOSS, Missing
from verdict.sweep.sweep import Swept
from verdict.sweep.why import (
    MOST_CAUSES,
    Cause,
    Change,
    Scene,
    State,
    causes,
    numbers,
    other_values,
    scene_of,
    trails,
)  # fmt: skip
from verdict.sweep.why.cone import readers_of
from verdict.sweep.why.naming import BACKWARD
from verdict.sweep.why.words import node_line, operator_text, owner_lines, places_text, ranks_text
from verdict.words import listed

SHOWN = 8
"""How many places a finding about one output names; dots stand for the others."""
MOST_MENDED = 4
"""How many of the outputs that a correction mends are named; dots stand for the others."""
MOST_TRAINED = 2
"""How many gradients are named beside the place of a correction; dots stand for the others."""
MOST_LINES = 4
"""How many single-device nodes are shown beside a cause; the others are left out."""


def findings(single: Plan, parallel: Plan, swept: Swept, most: int = MOST_CAUSES) -> tuple[Finding, ...]:
    """The findings of a sweep whose outputs differ, or are held by nobody. most: causes that are looked for."""
    shaped = [item for item in swept.different if item.error == float("inf")]
    left: Sequence[Different] = [item for item in swept.different if item.error != float("inf")]
    found: list[Finding] = []
    begins: Mapping[str, str] = {}
    if left and swept.runs is not None:
        scene = scene_of(swept.runs)
        known, state = causes(scene, State(swept.runs.values[1], Change(), tuple(left)), most)
        others, left = other_values(scene, state)
        found = list(_merged(_together(scene, (*known, *others))))
        begins = trails(scene, state, left)
    return (*found, *_without_cause(shaped, left, begins), *_missing(swept.missing))


def _finding(scene: Scene, cause: Cause) -> Finding:
    fix = cause.fix
    ranks = sorted({rank for rank, _ in fix.instances})
    step = scene.step(fix.at.steps[fix.instances[0]])
    mends = list(dict.fromkeys(item.result.what for item in cause.mends))
    agree = "agrees" if len(mends) == 1 else "agree"
    note = f"with that put right, {listed(mends, MOST_MENDED)} {agree} with the single-device plan"
    return Finding(
        fix.code,
        fix.title,
        f"{fix.at.name} on {places_text(scene, fix.instances)}{_trained(fix.at.name, cause)}",
        (*fix.notes, note),
        fix.help,
        len(fix.instances),
        numbers(scene, cause),
        Fault(tuple(dict.fromkeys(_places(scene, cause))), edits=fix.edits()),
        ranks=tuple(dict.fromkeys(rank % scene.parallel.devices for rank in ranks)),
        single=owner_lines(scene, fix.single)[:MOST_LINES],
        parallel=(f"{ranks_text(ranks)}: {node_line(scene, step)}",),
        kind=(step.op, *fix.kin),
    )


def _together(scene: Scene, found: Sequence[Cause]) -> list[Finding]:
    """A finding for each cause; one that is the other side of an earlier one is told there."""
    told: list[tuple[Cause, Finding]] = []
    for cause in found:
        finding = _finding(scene, cause)
        for number, (first, known) in enumerate(told):
            if said := _other_side(scene, first, cause):
                told[number] = first, joined(known, [finding], [f"{said}: {finding.title}"])
                break
        else:
            told.append((cause, finding))
    return [finding for _, finding in told]


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


def _trained(name: str, cause: Cause) -> str:
    """Whose gradients a correction of a recorded program mends: of what goes wrong at a line, that is what matters."""
    gradients = list(dict.fromkeys(item.result.what for item in cause.mends if item.result.key[0] == GRADIENT))
    return f" ({listed(gradients, MOST_TRAINED)})" if gradients and cited_in(name) is not None else ""


def _places(scene: Scene, cause: Cause) -> Iterator[Place]:
    """Where the nodes that are to blame stand in the plan."""
    for instance in cause.fix.instances:
        step = scene.step(cause.fix.at.steps[instance])
        device = step.place.rank % scene.parallel.devices
        yield Place(device, step.place.microbatch, step.place.name, operator_text(scene, step))


def _merged(found: Sequence[Finding]) -> Iterator[Finding]:
    """Findings of one code and kind as one, the earliest, which names the other places."""
    kinds: dict[tuple[str, Hashable], list[Finding]] = defaultdict(list)
    for finding in found:
        kinds[finding.code, finding.kind].append(finding)
    for first, *others in kinds.values():
        yield joined(first, others, [f"the same at {other.where}: {other.title}" for other in others])


def _without_cause(
    shaped: Sequence[Different], left: Sequence[Different], begins: Mapping[str, str]
) -> Iterator[Finding]:
    """One finding for each output that differs, wherever it does. begins: where the trail to each does."""
    for code, items in (("shape-mismatch", shaped), ("not-equivalent", left)):
        grouped: dict[str, list[Different]] = defaultdict(list)
        for item in items:
            grouped[item.result.what].append(item)
        for what, same in grouped.items():
            places = [item.result.where for item in same]
            shown = listed(places, SHOWN, "; ")
            worst = max(same, key=lambda item: item.error)
            size = f"off by up to {worst.error:.3g}, where the greatest element is {worst.size:.3g}"
            title = f"{what} is not what the single-device plan computes"
            if code == "shape-mismatch":
                title, size = f"{what} has another shape than its region of the single-device output", ""
            begun = begins.get(what, "") if code == "not-equivalent" else ""
            first = f"the first values on the way to it that are none of the single-device plan's: {begun}"
            notes = tuple(note for note in (size, shown, first if begun else "") if note)
            yield Finding(code, title, what, notes, extent=len(same))


def _missing(missing: Sequence[Missing]) -> Iterator[Finding]:
    """One finding for each output that nobody holds."""
    for kind, what in missing:
        code = {LOSS: "loss-missing", GRADIENT: "gradient-missing"}.get(kind, "output-missing")
        yield Finding(code, f"nobody declares all of: {what}", what)
