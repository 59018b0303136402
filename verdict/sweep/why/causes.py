"""The search: corrections are tried from the first step on; the one that mends outputs, and breaks none, is a cause.

What ranks sum and join comes before operators, since that is what people get wrong. Then come the steps that make what
the single-device plan has nowhere of what it has, and the others last. Where no single correction mends an output, all
are put in for which such a step at last makes single-device values again: an output may have several causes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from verdict.graph import ABSENT
from verdict.sweep.compare import Different
from verdict.sweep.elements import Kind
from verdict.sweep.flow import REDUCTIONS
from verdict.sweep.why.cone import cone_of
from verdict.sweep.why.counted import counted_often
from verdict.sweep.why.elsewhere import as_elsewhere
from verdict.sweep.why.factors import Scaled, factors, solved
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.gathers import gathers
from verdict.sweep.why.inputs import other_input
from verdict.sweep.why.mend import MOST_APPLIED, Budget, State, behind, improved, mended
from verdict.sweep.why.missing import MOST_LINEAR, lost_summands, missing_sums
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
MOST_LOOKED = 800
"""How many corrections are looked at there."""
MOST_APPLIED_BEHIND = 4_000
"""How many operators are applied in the search for corrections that mend nothing by themselves."""
MOST_ROUNDS = 8
"""How often the whole search, in which nothing was found at first, is gone through in all."""


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

    def fixes(self, state: State, at: Siblings) -> Iterator[Fix]:
        """All corrections of matching steps, but for those that are looked for last."""
        scene = self.scene
        yield from reductions(scene, state, at)
        yield from gathers(scene, state, at)
        yield from other_attributes(scene, state, at)
        yield from other_operator(scene, state, at)
        yield from as_elsewhere(scene, state, at)
        yield from other_input(scene, state, at, held=True)
        yield from factors(scene, state, at, self.scaled)
        yield from counted_often(scene, state, at)
        yield from missing_sums(scene, state, at)
        yield from lost_summands(scene, state, at)

    def collectives(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What ranks sum and join, otherwise."""
        yield from reductions(self.scene, state, at)
        yield from gathers(self.scene, state, at)

    def attributes(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Attributes of the single-device step, but for what a mean counts, which is another one on a share."""
        yield from (fix for fix in other_attributes(self.scene, state, at) if fix.code != "wrong-scale")

    def sums(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Parts that nobody sums."""
        yield from missing_sums(self.scene, state, at)

    def unlikely(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Values that the rank has not at all."""
        yield from other_input(self.scene, state, at, held=False)

    def scales(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Factors."""
        yield from factors(self.scene, state, at, self.scaled)

    def restoring(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Those for which steps do not make single-device values just because they are given some."""
        yield from self.collectives(state, at)
        yield from (fix for fix in self.attributes(state, at) if fix.single)
        shares = other_input(self.scene, state, at, held=True)
        yield from (fix for fix in shares if fix.code in ("missing-reduction", "wrong-slice", "wrong-order"))
        yield from self.scales(state, at)
        yield from counted_often(self.scene, state, at)
        yield from self.sums(state, at)

    def solved(self, budget: Budget, state: State, at: Siblings) -> Iterator[Fix]:
        """Factors that are found by trial."""
        yield from solved(self.scene, state, at, lambda change: mended(self.scene, state, change, budget))


Found = tuple[list[Cause], State]
Tried = Callable[[State, Siblings], Iterator[Fix]]


class Pass(NamedTuple):
    """Corrections of one kind, at some steps."""

    kind: Tried
    classes: Sequence[Siblings]


class Mending(NamedTuple):
    """A cause and what is left with it put right. whole: whether it mends all that depends on it."""

    cause: Cause
    after: State
    whole: bool


def causes(scene: Scene, start: State) -> tuple[list[Cause], State]:
    """The causes, the earliest first, and the flow with all of them put right."""
    search, state = Search(scene, Scaled(scene)), start
    found: list[Cause] = []
    for _ in range(MOST_ROUNDS):
        step = _next(search, state)
        if step is None:
            break
        found.extend(step[0])
        state = step[1]
        if not state.different or len(found) >= MOST_CAUSES:
            break
    return found, state


def _next(search: Search, state: State) -> Found | None:
    """The next causes: of the likeliest kind of which there are any that mend all that depends on them."""
    scene, early = search.scene, _astray(search, state)
    likely = (
        Pass(search.collectives, scene.classes),
        Pass(search.attributes, early(scene.classes)),
        Pass(search.sums, scene.classes),
        Pass(search.fixes, early(scene.repeated)),
        Pass(search.fixes, early(scene.classes)),
    )
    late = (
        Pass(search.fixes, scene.classes),
        Pass(search.fixes, scene.repeated),
        Pass(search.unlikely, scene.classes),
        Pass(partial(search.solved, Budget()), scene.classes),
    )
    partly: list[Mending] = []
    for one in likely:
        step = _alone(search, state, one, partly)
        if step is not None:
            return _with_ties(search, state, step, early)
    step = _restored(search, state)
    if step is not None:
        return step
    for one in late:
        step = _alone(search, state, one, partly)
        if step is not None:
            return step
    if partly:
        most = min(partly, key=lambda mending: len(mending.after.wrong))
        return [most.cause], most.after
    return _several(search, state)


def _with_ties(search: Search, state: State, step: Found, early: Callable[..., Sequence[Siblings]]) -> Found:
    """The causes, of which those that put another mean or sum over ranks say where a factor mends the same."""
    found, after = step
    if all(cause.fix.code != "mean-instead-of-sum" for cause in found):
        return step
    for classes in (early(search.scene.classes), early(search.scene.repeated)):
        other = _one(search, state, Pass(search.scales, classes))
        if other is not None and other.after.wrong <= after.wrong:
            note = f"{other.cause.fix.title}: to {other.cause.fix.help} mends the same"
            return [replace(c, fix=c.fix._replace(notes=(*c.fix.notes, note))) for c in found], after
    return step


def _alone(search: Search, state: State, among: Pass, partly: list[Mending]) -> Found | None:
    """Corrections that each mend all that depends on them, one after the other; the first that does not is kept."""
    found: list[Cause] = []
    while state.different and len(found) < MOST_CAUSES:
        mending = _one(search, state, among)
        if mending is None or not mending.whole:
            partly.extend([mending] if mending is not None and not found else [])
            break
        found.append(mending.cause)
        state = mending.after
    return (found, state) if found else None


def _one(search: Search, state: State, among: Pass, budget: Budget | None = None) -> Mending | None:
    """The earliest correction that mends all that depends on it, else the one that mends most."""
    best: Mending | None = None
    budget = budget or Budget()
    for at in _concerned(search, state, among.classes):
        for fix in among.kind(state, at):
            after = improved(search.scene, state, fix.change, budget)
            if budget.left < 0:
                return best
            if after is None:
                continue
            whole = after.wrong.isdisjoint(behind(search.scene, fix.change, fix.at))
            found = Mending(_cause(state, after, fix), after, whole)
            if whole:
                return found
            if best is None or len(after.wrong) < len(best.after.wrong):
                best = found
    return best


def _astray(search: Search, state: State) -> Callable[[Sequence[Siblings]], Sequence[Siblings]]:
    """Those of matching steps of which one makes what the single-device plan has nowhere, of what it has."""

    def is_astray(number: int) -> bool:
        step = search.scene.step(number)
        outputs = [value for value in step.outputs if value != ABSENT]
        return any(state.look(search.scene, value) is None for value in outputs) and all(
            state.look(search.scene, value) is not None for value in step.inputs
        )

    def chosen(classes: Sequence[Siblings]) -> Sequence[Siblings]:
        return [at for at in _concerned(search, state, classes) if any(map(is_astray, at.steps.values()))]

    return chosen


def _restored(search: Search, state: State) -> Found | None:
    """All steps that go astray put right, from the first one on, where outputs are mended by taking them together:
    a reduction left out in every layer. What is not needed for that is left out again.
    """
    fixes: list[Fix] = []
    after, budget = state, Budget(2 * MOST_APPLIED)
    for at in _concerned(search, state, search.scene.classes):
        if not _astray(search, after)([at]):
            continue
        fixed = next(_restoring(search, after, at, budget), None)
        if fixed is not None:
            fixes.append(fixed[0])
            after = fixed[1]
        if budget.left < 0 or not after.different:
            break
    if not after.wrong < state.wrong:
        return None
    return [_cause(state, after, fix) for fix in _needed(search, state, after, fixes)], after


def _restoring(search: Search, state: State, at: Siblings, budget: Budget) -> Iterator[tuple[Fix, State]]:
    """Corrections for which matching steps make single-device values, or parts whose sum is one, and what comes of
    them.
    """
    for fix in search.restoring(state, at):
        if not _makes_own(search.scene, fix) and fix.code != "reduced-twice":
            continue
        after = mended(search.scene, state, fix.change, budget)
        if after is not None and _makes_known(search.scene, after, fix):
            yield fix, after


def _makes_own(scene: Scene, fix: Fix) -> bool:
    """Whether what the steps make is replaced by single-device values."""
    made = {v for place in fix.instances for v in scene.step(fix.at.steps[place]).outputs}
    direct = [arrays for value, arrays in fix.change.values.items() if value in made]
    return bool(direct) and all(scene.look(arrays) is not None for arrays in direct)


def _makes_known(scene: Scene, after: State, fix: Fix) -> bool:
    """Whether what the steps make, or the sums over ranks of it, are single-device values, and no constants."""
    made = {v for place in fix.instances for v in scene.step(fix.at.steps[place]).outputs if v != ABSENT}
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


def _needed(search: Search, state: State, after: State, fixes: Sequence[Fix]) -> Sequence[Fix]:
    """The corrections without which less is mended, as far as the budget goes."""
    kept, budget = list(fixes), Budget()
    for fix in fixes if len(fixes) > 1 else ():
        others = [other for other in kept if other is not fix]
        without: State | None = state
        for other in others:
            without = mended(search.scene, without, other.change, budget) if without is not None else None
        if without is not None and without.wrong == after.wrong:
            kept = others
    return kept


def _several(search: Search, state: State) -> Found | None:
    """The fewest corrections that mend an output together."""
    found = (_chain(search, state, depth, Budget(MOST_APPLIED_BEHIND)) for depth in range(1, MOST_BEHIND + 1))
    return next((step for step in found if step is not None), None)


def _chain(search: Search, state: State, depth: int, budget: Budget) -> Found | None:
    """Corrections that mend an output together: each but the last makes values that the single-device plan has."""
    tried = looked = 0
    for at in _astray(search, state)(search.scene.classes):
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
                return [_cause(state, rest[1], fix), *rest[0]], rest[1]
            if tried == MOST_TRIED or budget.left < 0:
                return None
    return None


def _last(search: Search, state: State, budget: Budget) -> Found | None:
    for classes in (search.scene.classes, search.scene.repeated):
        mending = _one(search, state, Pass(search.fixes, classes), budget)
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


def _cause(state: State, after: State, fix: Fix) -> Cause:
    wrong = {_name(item) for item in after.different}
    return Cause(fix, state, tuple(item for item in state.different if _name(item) not in wrong))


def _name(item: Different) -> tuple[object, ...]:
    return item.result.key, item.result.what, item.result.where


def _concerned(search: Search, state: State, classes: Sequence[Siblings]) -> Iterator[Siblings]:
    """The steps that outputs that differ depend on."""
    cone = cone_of(search.scene, [item.result.value for item in state.different])
    return (at for at in classes if any(number in cone for number in at.steps.values()))
