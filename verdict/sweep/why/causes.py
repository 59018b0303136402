"""The search: corrections are tried from the first step on; the one that mends outputs, and breaks none, is a cause."""

from collections.abc import Iterator
from dataclasses import dataclass

from verdict.sweep.compare import Different
from verdict.sweep.why.factors import Scaled, factors
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import Budget, Change, State, mended
from verdict.sweep.why.missing import lost_summands, missing_sums
from verdict.sweep.why.scene import Scene, Values
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.steps import other_attributes, other_input, other_operator
from verdict.sweep.why.sums import reductions

MOST_CAUSES = 12


@dataclass(frozen=True, slots=True)
class Cause:
    """A correction that mends outputs. before: the state without it. mends: the outputs."""

    fix: Fix
    before: State
    mends: tuple[Different, ...]


def causes(scene: Scene, values: Values, different: tuple[Different, ...]) -> tuple[list[Cause], tuple[Different, ...]]:
    """The causes, the earliest first, and the outputs for which none was found."""
    state, budget = State(values, Change(), different), Budget()
    scaled = Scaled(scene)
    found: list[Cause] = []
    while state.different and len(found) < MOST_CAUSES and budget.left > 0:
        cause, after = _next(scene, state, scaled, budget)
        if cause is None or after is None:
            break
        found.append(cause)
        state = after
    return found, state.different


def _next(scene: Scene, state: State, scaled: Scaled, budget: Budget) -> tuple[Cause | None, State | None]:
    cone = _cone(scene, state)
    best: tuple[Cause, State] | None = None
    for at in scene.classes:
        if not any(number in cone for number in at.steps.values()):
            continue
        for fix in _fixes(scene, state, at, scaled):
            after = mended(scene, state, fix.change, budget)
            if budget.left < 0:
                return best or (None, None)
            if after is None or not after.wrong < state.wrong:
                continue
            mends = tuple(item for item in state.different if _name(item) not in {_name(d) for d in after.different})
            cause = Cause(fix, state, mends)
            if not after.wrong:
                return cause, after
            if best is None or len(after.wrong) < len(best[1].wrong):
                best = cause, after
    return best or (None, None)


def _name(item: Different) -> tuple[object, ...]:
    return item.result.key, item.result.what, item.result.where


def _fixes(scene: Scene, state: State, at: Siblings, scaled: Scaled) -> Iterator[Fix]:
    yield from reductions(scene, state, at)
    yield from other_attributes(scene, state, at)
    yield from other_operator(scene, state, at)
    yield from other_input(scene, state, at)
    yield from factors(scene, state, at, scaled)
    yield from missing_sums(scene, state, at)
    yield from lost_summands(scene, state, at)


def _cone(scene: Scene, state: State) -> set[int]:
    """The steps that outputs that differ depend on."""
    values = {r.value: r for r in scene.other.results}
    wrong = {(item.result.key, item.result.what, item.result.where) for item in state.different}
    stack = [r.value for r in values.values() if (r.key, r.what, r.where) in wrong]
    cone: set[int] = set()
    while stack:
        number = scene.maker.get(stack.pop())
        if number is not None and number not in cone:
            cone.add(number)
            stack.extend(scene.step(number).inputs)
    return cone
