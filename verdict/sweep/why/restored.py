"""Several corrections together: what makes single-device values again where the parallel plan goes astray."""

from collections.abc import Iterable, Iterator, Sequence

from verdict.graph import ABSENT
from verdict.sweep.elements import Kind
from verdict.sweep.flow import REDUCTIONS
from verdict.sweep.why.among import astray, before_wrong, is_astray
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import MOST_APPLIED, Budget, State, mended
from verdict.sweep.why.missing import MOST_LINEAR
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.search import Found, Pass, Search, Tried, cause_of, made_by, makes_own, one_of

MOST_BEHIND = 2
"""How many corrections in a row may mend no output by themselves."""
MOST_TRIED = 24
"""How many corrections are put in on trial at each of these."""
MOST_LOOKED = 800
"""How many corrections are looked at there."""
MOST_APPLIED_BEHIND = 4_000
"""How many operators are applied in the search for corrections that mend nothing by themselves."""

Made = tuple[Fix, Tried]
"""A correction, and what it was looked for by."""


def restored(search: Search, state: State) -> Found | None:
    """All steps that go astray put right, from the first one on, where outputs are mended by taking them together:
    a reduction left out in every layer. Factors are put right as well where all is not mended without.
    """
    without = _restored(search, state, search.restoring)
    if without is not None and not without[1].different:
        return without
    return _restored(search, state, search.restoring_scaled) or without


def _restored(search: Search, state: State, restoring: Tried) -> Found | None:
    scene, made = search.scene, list[Made]()
    after, budget, cone = state, Budget(2 * MOST_APPLIED), before_wrong(search.scene, state)
    for at in scene.classes:
        if cone.isdisjoint(at.steps.values()):
            continue
        apart = any(is_astray(scene, after, number) for number in at.steps.values())
        kind = restoring if apart else search.parts_added
        fixed = next(_restoring(search, after, kind(after, at), budget), None)
        if fixed is not None:
            made.append((fixed[0], kind))
            after = fixed[1]
            cone = before_wrong(search.scene, after)
        if budget.left < 0 or not after.different:
            break
    if not after.wrong < state.wrong:
        return None
    fixes, after = _needed(search, state, made, after)
    return [cause_of(state, after, fix) for fix in fixes], after


def _needed(search: Search, state: State, made: Sequence[Made], after: State) -> tuple[list[Fix], State]:
    """The corrections, and what comes of them, but for those of a kind without which the others are found, too, and
    mend as much: a part that is summed further on goes astray, too, and is right.
    """
    for code in dict.fromkeys(fix.code for fix, _ in made):
        others = [one for one in made if one[0].code != code]
        found = _alone(search, state, others) if others else None
        if found is not None and found[1].wrong <= after.wrong:
            made, after = found
    return [fix for fix, _ in made], after


def _alone(search: Search, state: State, made: Sequence[Made]) -> tuple[list[Made], State] | None:
    """Corrections of the same kinds at the same steps, found with nothing else in place, and what comes of them."""
    found, budget = list[Made](), Budget(MOST_APPLIED)
    for fix, kind in made:
        again = (one for one in _restoring(search, state, kind(state, fix.at), budget) if one[0].code == fix.code)
        first = next(again, None)
        if first is None:
            return None
        found.append((first[0], kind))
        state = first[1]
    return found, state


def _restoring(search: Search, state: State, fixes: Iterable[Fix], budget: Budget) -> Iterator[tuple[Fix, State]]:
    """Those of some corrections for which steps make single-device values, or parts whose sum is one, and what comes
    of them.
    """
    for fix in fixes:
        if not makes_own(search.scene, fix) and fix.code != "reduced-twice":
            continue
        after = mended(search.scene, state, fix.change, budget)
        if after is not None and _makes_known(search.scene, after, fix):
            yield fix, after


def _makes_known(scene: Scene, after: State, fix: Fix) -> bool:
    """Whether what the steps make, or the sums over ranks of it, are single-device values, and no constants."""
    made = made_by(scene, fix) - {ABSENT}
    return bool(made) and all(
        _is_known(scene, after, value) or _is_summed(scene, after, value) for value in made & fix.change.values.keys()
    )


def _is_known(scene: Scene, after: State, value: int) -> bool:
    ids = after.look(scene, value)
    return ids is not None and any(block.kind is not Kind.CONSTANT for block in scene.elements.blocks_of(ids))


def _is_summed(scene: Scene, after: State, value: int) -> bool:
    """Whether a value, handed on through a few steps, goes into sums over ranks that are known."""
    values = {value}
    for _ in range(MOST_LINEAR):
        steps = [scene.step(number) for own in values for number in scene.readers.get(own, ())]
        values = {made for step in steps for made in step.outputs if made != ABSENT}
        values = {made for made in values if not _is_known(scene, after, made)}
        if not steps or any(step.op in REDUCTIONS.values() and not values.isdisjoint(step.outputs) for step in steps):
            return False
        if not values:
            return True
    return False


def several(search: Search, state: State) -> Found | None:
    """The fewest corrections that mend an output together."""
    found = (_chain(search, state, depth, Budget(MOST_APPLIED_BEHIND)) for depth in range(1, MOST_BEHIND + 1))
    return next((step for step in found if step is not None), None)


def _chain(search: Search, state: State, depth: int, budget: Budget) -> Found | None:
    """Corrections that mend an output together: each but the last makes values that the single-device plan has."""
    tried = looked = 0
    for at in astray(search.scene, state)(search.scene.classes):
        for fix in search.fixes(state, at):
            looked += 1
            if looked > MOST_LOOKED:
                return None
            if not _convinces(search.scene, state, fix):
                continue
            after = mended(search.scene, state, fix.change, budget)
            if after is None or not after.wrong <= state.wrong or not _restores(search.scene, after, fix):
                continue
            tried += 1
            rest = _last(search, after, budget) if depth == 1 else _chain(search, after, depth - 1, budget)
            if rest is not None:
                return [cause_of(state, rest[1], fix), *rest[0]], rest[1]
            if tried == MOST_TRIED or budget.left < 0:
                return None
    return None


def _last(search: Search, state: State, budget: Budget) -> Found | None:
    for classes in (search.scene.classes, search.scene.repeated):
        mending = one_of(search, state, Pass(search.fixes, classes), budget)
        if mending is not None:
            return [mending.cause], mending.after
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


def _restores(scene: Scene, after: State, fix: Fix) -> bool:
    outputs = [v for place in fix.instances for v in scene.step(fix.at.steps[place]).outputs if v != ABSENT]
    return all(after.look(scene, value) is not None for value in outputs)
