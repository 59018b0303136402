"""The search: corrections are tried from the first step on; the one that mends outputs, and breaks none, is a cause.

Where no single correction mends an output, one is put in for which the step at last makes single-device values again,
and the search goes on behind it: an output may have several causes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from verdict.graph import ABSENT
from verdict.sweep.compare import Different
from verdict.sweep.why.cone import cone_of
from verdict.sweep.why.counted import counted_often
from verdict.sweep.why.elsewhere import as_elsewhere
from verdict.sweep.why.factors import Scaled, factors, solved
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.gathers import gathers
from verdict.sweep.why.inputs import other_input
from verdict.sweep.why.mend import Budget, State, behind, improved, mended
from verdict.sweep.why.missing import lost_summands, missing_sums
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.steps import other_attributes, other_operator
from verdict.sweep.why.sums import reductions

MOST_CAUSES = 40
"""How many causes are looked for; outputs that differ still are reported without one."""
MOST_BEHIND = 2
"""How many corrections in a row may mend no output by themselves."""
MOST_TRIED = 24
"""How many corrections are put in on trial at each of these."""

MOST_LOOKED = 2_500
"""How many corrections are looked at there."""
MOST_APPLIED_BEHIND = 4_000
"""How many operators are applied in the search for corrections that mend nothing by themselves."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A correction that mends outputs. before: the state without it. mends: the outputs."""

    fix: Fix
    before: State
    mends: tuple[Different, ...]


@dataclass(frozen=True, slots=True)
class Search:
    """What a search needs beside the state."""

    scene: Scene
    scaled: Scaled
    budget: Budget


def causes(scene: Scene, start: State) -> tuple[list[Cause], State]:
    """The causes, the earliest first, and the flow with all of them put right."""
    search, state = Search(scene, Scaled(scene), Budget()), start
    found: list[Cause] = []
    while state.different and len(found) < MOST_CAUSES and search.budget.left > 0:
        step = (
            _next(search, state, _passes(scene))
            or _over_ranks(search, state)
            or _all_parts(search, state)
            or _several(search, state)
        )
        if step is None:
            break
        found.extend(step[0])
        state = step[1]
    return found, state


Found = tuple[list[Cause], State] | None


Pass = tuple[Callable[[Search, State, Siblings], Iterator[Fix]], tuple[Siblings, ...]]


def _passes(scene: Scene) -> tuple[Pass, ...]:
    return (_fixes, scene.classes), (_fixes, scene.repeated), (_late_fixes, scene.classes)


def _over_ranks(search: Search, state: State) -> Found:
    """What is summed and joined over ranks, looked at alone where the search has come to its limit before."""
    if search.budget.left >= 0:
        return None
    alone = Search(search.scene, search.scaled, Budget())
    return _next(alone, state, ((_fixes_over_ranks, search.scene.classes),))


def _next(search: Search, state: State, passes: Sequence[Pass]) -> Found:
    """The earliest correction that mends all that depends on it, else the one that mends most."""
    best: Found = None
    for fixes, classes in passes:
        for at in _concerned(search, state, classes):
            for fix in fixes(search, state, at):
                after = improved(search.scene, state, fix.change, search.budget)
                if search.budget.left < 0:
                    return best
                if after is None:
                    continue
                found = [_cause(state, after, fix)], after
                if after.wrong.isdisjoint(behind(search.scene, fix.change, fix.at)):
                    return best if best is not None and best[1].wrong <= after.wrong else found
                if best is None or len(after.wrong) < len(best[1].wrong):
                    best = found
        if best is not None:
            return best
    return best


def _all_parts(search: Search, state: State) -> Found:
    """All sums that nobody takes, where outputs are mended by taking them together: a reduction left out in every
    layer. Each restores single-device values where a step makes parts of them.
    """
    alone = Search(search.scene, search.scaled, Budget())
    fixes: list[Fix] = []
    after = state
    for at in _concerned(alone, state, alone.scene.classes):
        for fix in missing_sums(alone.scene, after, at):
            mending = (
                mended(alone.scene, after, fix.change, alone.budget) if _convinces(alone.scene, after, fix) else None
            )
            if mending is not None and _restores(alone.scene, after, mending, fix):
                fixes.append(fix)
                after = mending
                break
    if not after.wrong < state.wrong:
        return None
    return [_cause(state, after, fix) for fix in fixes], after


def _several(search: Search, state: State) -> Found:
    """The fewest corrections that mend an output together."""
    alone = Search(search.scene, search.scaled, Budget(MOST_APPLIED_BEHIND))
    found = (_chain(alone, state, depth) for depth in range(1, MOST_BEHIND + 1))
    return next((step for step in found if step is not None), None)


def _chain(search: Search, state: State, depth: int) -> Found:
    """Corrections that mend an output together: each but the last makes values that the single-device plan has."""
    if depth == 0:
        return None
    tried = looked = 0
    for at in _concerned(search, state, search.scene.classes):
        for fix in _fixes(search, state, at):
            looked += 1
            if looked > MOST_LOOKED:
                return None
            if not _convinces(search.scene, state, fix):
                continue
            after = mended(search.scene, state, fix.change, search.budget)
            if after is None or not after.wrong <= state.wrong or not _restores(search.scene, state, after, fix):
                continue
            tried += 1
            rest = _next(search, after, _passes(search.scene)) if depth == 1 else _chain(search, after, depth - 1)
            if rest is not None:
                mends = _cause(state, rest[1], fix)
                return [mends, *rest[0]], rest[1]
            if tried == MOST_TRIED or search.budget.left < 0:
                return None
    return None


def _convinces(scene: Scene, state: State, fix: Fix) -> bool:
    """Whether a step reads single-device values only and makes none."""
    for place in fix.instances:
        step = scene.step(fix.at.steps[place])
        if any(state.look(scene, value) is None for value in step.inputs):
            return False
        if all(state.look(scene, value) is not None for value in step.outputs if value != ABSENT):
            return False
    return True


def _restores(scene: Scene, state: State, after: State, fix: Fix) -> bool:
    outputs = [v for place in fix.instances for v in scene.step(fix.at.steps[place]).outputs if v != ABSENT]
    return all(after.look(scene, value) is not None for value in outputs)


def _cause(state: State, after: State, fix: Fix) -> Cause:
    wrong = {_name(item) for item in after.different}
    return Cause(fix, state, tuple(item for item in state.different if _name(item) not in wrong))


def _name(item: Different) -> tuple[object, ...]:
    return item.result.key, item.result.what, item.result.where


def _concerned(search: Search, state: State, classes: Sequence[Siblings]) -> Iterator[Siblings]:
    """The steps that outputs that differ depend on."""
    cone = cone_of(search.scene, [item.result.value for item in state.different])
    return (at for at in classes if any(number in cone for number in at.steps.values()))


def _fixes(search: Search, state: State, at: Siblings) -> Iterator[Fix]:
    scene = search.scene
    yield from reductions(scene, state, at)
    yield from gathers(scene, state, at)
    yield from other_attributes(scene, state, at)
    yield from other_operator(scene, state, at)
    yield from as_elsewhere(scene, state, at)
    yield from other_input(scene, state, at)
    yield from factors(scene, state, at, search.scaled)
    yield from counted_often(scene, state, at)
    yield from missing_sums(scene, state, at)
    yield from lost_summands(scene, state, at)


def _fixes_over_ranks(search: Search, state: State, at: Siblings) -> Iterator[Fix]:
    yield from reductions(search.scene, state, at)
    yield from gathers(search.scene, state, at)
    yield from missing_sums(search.scene, state, at)


def _late_fixes(search: Search, state: State, at: Siblings) -> Iterator[Fix]:
    yield from solved(search.scene, state, at, lambda change: mended(search.scene, state, change, search.budget))
