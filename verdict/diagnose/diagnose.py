"""From all that was found to findings for people: one for each cause, the earliest first, what follows attached."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from verdict.diagnose.case import END, STRUCTURE, WALK, Case, attached, merged
from verdict.diagnose.ends import end_cases
from verdict.diagnose.refuted import refuted_cases
from verdict.diagnose.scene import Scene
from verdict.diagnose.shown import of_stage, of_value
from verdict.diagnose.structure import structural_cases
from verdict.diagnose.wiring import walk_cases
from verdict.graph import Fault, Plan
from verdict.graph.lockstep import COMMUNICATION
from verdict.graph.turns import OUT_OF_TURN
from verdict.lineage import Evidence
from verdict.outcome import Finding
from verdict.solver import SolverError

SCHEDULE = frozenset({"deadlock", "send-without-receive", "receive-without-send"})
"""What a missing or misplaced communication leads to, whatever it is."""

STUCK = frozenset({"deadlock", "receive-without-send"})
"""Faults at which ranks stop: nothing is known of what they would have computed."""

UPSETS = SCHEDULE | {
    *("microbatch-missing", "microbatch-duplicated", "broken-data-flow"),
    *("wrong-group", "wrong-order", "wrong-collective"),
}
"""Faults behind which the schedule does not go on as it should."""

CALLED_WRONG = {
    "microbatch-duplicated": frozenset({"broken-data-flow", "reduced-twice"}),
    "microbatch-missing": frozenset({"broken-data-flow", "gradient-missing"}),
}
"""What shows in the data where a segment runs too often, or not."""

GROUP = "wrong-group"
"""The code of a collective's members."""

DISORDER = frozenset({"wrong-collective", "wrong-order", "shape-mismatch"})
"""What ranks that are out of step meet."""


@dataclass(frozen=True, slots=True)
class Raw:
    """All that was found, by where: at the door, about the results; the walks and outcomes are in the scene."""

    structural: tuple[Finding, ...] = ()
    ends: tuple[Finding, ...] = ()


def diagnose(plan: Plan, raw: Raw, scene: Scene | None) -> tuple[Finding, ...]:
    """The findings, one for each cause. scene: None where the values could not be looked at."""
    cases = list(structural_cases(plan, raw.structural, scene))
    if scene is not None:
        cases.extend(walk_cases(scene))
        cases.extend(refuted_cases(scene))
        cases.extend(end_cases(scene, raw.ends))
    return tuple(_with_numbers(scene, case) if scene is not None else case.finding for case in _together(cases))


def _with_numbers(scene: Scene, case: Case) -> Finding:
    """The finding with its counterexample, where numbers tell it; without where a node is too large to be shown."""
    about, found = case.finding.evidence, case.finding.counterexample
    try:
        if case.refuted is not None:
            found = of_stage(scene, *case.refuted)
        elif found is None and isinstance(about, Evidence):
            found = of_value(scene, about)
    except SolverError:
        return case.finding
    return replace(case.finding, counterexample=found)


def _together(cases: Sequence[Case]) -> list[Case]:
    """Cases with one key as one, in order; those that only follow from an earlier one attached to it."""
    groups: dict[object, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.key, []).append(case)
    ordered = sorted((merged(group) for group in groups.values()), key=lambda case: case.order)
    ordered = _told_better(ordered)
    kept: list[Case] = []
    stuck = any(case.finding.code in STUCK for case in ordered)
    for case in _causes_first(ordered):
        earlier = next((k for k, other in enumerate(kept) if _follows(other, case, stuck)), None)
        if earlier is None:
            kept.append(case)
        else:
            kept[earlier] = attached(kept[earlier], case)
    return kept


def _told_better(cases: Sequence[Case]) -> list[Case]:
    """The cases, with groups that do not fit each other told by the walk, which shows whose group is the wrong one."""
    walked = {
        name: case for case in cases if case.order[0] == WALK and case.finding.code == GROUP for name in case.names
    }
    twins: dict[int, Case] = {}
    for number, case in enumerate(cases):
        twin = next((walked[name] for name in sorted(case.names) if name in walked), None)
        at_the_door = case.order[0] == STRUCTURE and case.finding.code == GROUP
        if twin is not None and at_the_door and all(other is not twin for other in twins.values()):
            twins[number] = twin
    return [
        attached(twin._replace(order=case.order, tensors=case.tensors | twin.tensors), case) if twin else case
        for case, twin in ((case, twins.get(number)) for number, case in enumerate(cases))
        if all(case is not other for other in twins.values())
    ]


def _causes_first(cases: Sequence[Case]) -> list[Case]:
    """Of the faults at the door, missing calls first and those of the schedule last: these follow from others."""

    def rank(case: Case) -> tuple[int, int, tuple[int, int]]:
        code = case.finding.code
        return case.order[0], (code in SCHEDULE) - (code in CALLED_WRONG), case.order

    return sorted(cases, key=rank)


def _follows(earlier: Case, later: Case, stuck: bool) -> bool:
    """Whether a fault only follows from an earlier one. stuck: whether some rank does not reach its end."""
    code = later.finding.code
    if stuck and later.order[0] == END and earlier.finding.code in UPSETS:
        return True
    if code in CALLED_WRONG.get(earlier.finding.code, ()):
        return True
    if earlier.order[0] == STRUCTURE:
        if later.order[0] == STRUCTURE:
            return _out_of_step(earlier, later)
        same = (code == earlier.finding.code and code in UPSETS) or earlier.finding.code == "shape-mismatch"
        alike = same and earlier.names & later.names
        return bool(earlier.tensors & later.tensors or alike)
    if later.order[0] != END:
        return False
    if earlier.order[0] == END:
        return code == "weight-not-covered" and earlier.finding.code == "gradient-missing"
    return bool(earlier.bases & later.bases)


def _out_of_step(earlier: Case, later: Case) -> bool:
    """Whether a fault of the schedule follows from another one."""
    first, code = earlier.finding.code, later.finding.code
    if first not in UPSETS:
        return False
    if code == "wrong-group":
        return first == "wrong-group" and bool(earlier.names & later.names)
    in_turn = first == "broken-data-flow" and earlier.finding.kind != OUT_OF_TURN
    disordered = code in DISORDER and first not in SCHEDULE and not in_turn
    return code in SCHEDULE or (disordered and _talks(later.finding))


def _talks(finding: Finding) -> bool:
    places = finding.evidence.places if isinstance(finding.evidence, Fault) else ()
    return any(place.op in COMMUNICATION for place in places)
