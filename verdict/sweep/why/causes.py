"""The search: corrections are tried from the first step on; the one that mends outputs, and breaks none, is a cause.

What ranks sum and join comes before operators, since that is what people get wrong. Then come the steps that make what
the single-device plan has nowhere of what it has, and the others last. Where no single correction mends an output, all
are put in for which such a step at last makes single-device values again: an output may have several causes.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from verdict.graph import COPY
from verdict.sweep.flow import REDUCTIONS
from verdict.sweep.why.among import astray, beside_sums, next_to_astray, of_constants
from verdict.sweep.why.factors import Scaled
from verdict.sweep.why.mend import Budget, State, mended
from verdict.sweep.why.restored import restored, several
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.search import (
    Cause,
    Found,
    Mending,
    Pass,
    Search,
    cause_of,
    one_of,
)
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.stated import (
    as_number,
    multiplies,
    numbers_there,
    other_numbers,
    own_numbers,
    without_factor,
)
from verdict.sweep.why.together import together
from verdict.sweep.why.upstream import of_own_shares

MOST_CAUSES = 40
"""How many causes are looked for; outputs that differ still are reported without one."""
MOST_ROUNDS = 8
"""How often the whole search, in which nothing was found at first, is gone through in all."""


def causes(scene: Scene, start: State, most: int = MOST_CAUSES) -> tuple[list[Cause], State]:
    """The causes, the earliest first, and the flow with all of them put right. most: of these, where it ends.

    What is computed of a rank's own share is no cause where an output that was right is wrong at the end with that.
    """
    search = Search(scene, Scaled(scene))
    found, state = _each(search, start, most, shares=True)
    if not state.wrong <= start.wrong:
        found, state = _each(search, start, most, shares=False)
    return sorted(found, key=lambda cause: cause.fix.at.first), state


def _each(search: Search, state: State, most: int, shares: bool) -> Found:
    found: list[Cause] = []
    for _ in range(MOST_ROUNDS):
        step = _next(search, state, shares)
        if step is None:
            break
        found.extend(step[0])
        state = step[1]
        if not state.different or len(found) >= most:
            break
    return found, state


def _next(search: Search, state: State, shares: bool) -> Found | None:
    """The next causes: of the likeliest kind of which there are any that mend all that depends on them.

    shares: whether what is computed of a rank's own share is looked for, before parts that nobody sums.
    """
    scene, early = search.scene, astray(search.scene, state)
    sums = Pass(search.sums, scene.classes)
    likely = (
        Pass(search.again, scene.classes),
        Pass(search.left_out, scene.classes),
        Pass(search.made_whole, scene.classes),
        Pass(search.collectives, scene.classes),
        Pass(search.cuts, scene.classes),
        Pass(search.lookups, scene.classes),
        Pass(search.order, scene.classes),
        Pass(search.attributes, early(scene.classes)),
        Pass(search.runs, scene.repeated),
        Pass(search.off, scene.classes),
        Pass(search.off, scene.repeated),
        Pass(partial(without_factor, scene), scene.classes),
        Pass(search.read_early, [*beside_sums(scene, scene.classes), *next_to_astray(scene, state, scene.classes)]),
        sums,
        Pass(partial(numbers_there, scene), scene.repeated),
        Pass(search.sums, scene.repeated),
        Pass(search.parts, next_to_astray(scene, state, scene.classes)),
        Pass(search.of_constants, of_constants(scene, state, scene.classes, unlike=True)),
        Pass(search.shares, of_constants(scene, state, scene.classes)),
        Pass(search.elsewhere, scene.classes),
        Pass(search.fixes, early(scene.repeated)),
        Pass(search.fixes, early(scene.classes)),
    )
    late = (
        Pass(search.unsummed, scene.classes),
        Pass(search.unscaled, scene.classes),
        Pass(search.unscaled, scene.repeated),
        Pass(search.turned, scene.classes),
        Pass(search.turned, scene.repeated),
        Pass(search.signed, scene.classes),
        Pass(search.signed, scene.repeated),
        Pass(search.fixes, scene.classes),
        Pass(search.fixes, scene.repeated),
        Pass(search.too_many, scene.classes),
        Pass(search.unlikely, scene.classes),
        Pass(search.operators, scene.classes),
        Pass(partial(search.solved, Budget()), scene.classes),
    )
    partly: list[tuple[Mending, Pass]] = []
    for one in likely:
        step = _of_own_shares(search, state) if shares and one is sums else None
        if step is not None:
            return step
        step = _alone(search, state, one, partly)
        if step is not None:
            return _stated(search, state, _with_ties(search, state, step, early))
    sums_apart = Pass(search.sums, scene.classes)
    step = together(search, state) or _one_by_one(search, state, sums_apart) or restored(search, state)
    if step is not None:
        return step
    for one in late:
        step = _alone(search, state, one, partly)
        if step is not None:
            return _stated(search, state, step)
    if partly:
        return _likewise(search, *min(partly, key=lambda part: len(part[0].after.wrong)))
    return several(search, state)


def _of_own_shares(search: Search, state: State) -> Found | None:
    """What is computed of each rank's own share, from the first step on, where all of it mends outputs. Others it may
    break: a gradient that is zero as it is, until the sums of the backward pass are over all ranks, too.
    """
    found: list[Cause] = []
    while (step := next(_shares(search, state), None)) is not None and len(found) < MOST_CAUSES:
        found.append(step[0])
        state = step[1]
    return (found, state) if found else None


def _shares(search: Search, state: State) -> Iterator[tuple[Cause, State]]:
    for at in astray(search.scene, state)(search.scene.classes):
        for fix in of_own_shares(search.scene, state, at):
            after = mended(search.scene, state, fix.change, Budget())
            if after is not None and len(after.wrong) < len(state.wrong):
                yield cause_of(state, after, fix), after


def _with_ties(search: Search, state: State, step: Found, early: Callable[..., Sequence[Siblings]]) -> Found:
    """The causes, of which those that put another mean or sum over ranks say where a factor mends the same."""
    found, after = step
    if all(cause.fix.code != "mean-instead-of-sum" for cause in found):
        return step
    scene = search.scene
    numbers = (Pass(search.off, scene.classes), Pass(search.off, scene.repeated))
    for one in (*numbers, Pass(search.scales, early(scene.classes)), Pass(search.scales, early(scene.repeated))):
        other = one_of(search, state, one)
        if other is not None and other.after.wrong <= after.wrong:
            if multiplies(scene, state, other.cause.fix.at):
                return _instead(step, ([other.cause], other.after)), other.after
            note = f"{other.cause.fix.title}: to {other.cause.fix.help} mends the same"
            return [replace(c, fix=c.fix._replace(notes=(*c.fix.notes, note))) for c in found], after
    return step


def _stated(search: Search, state: State, step: Found) -> Found:
    """The causes; factors as numbers in the steps, or in others that mend the same, or else where ranks are summed."""
    found, after = step
    scene = search.scene
    if any(cause.fix.code != "wrong-scale" or cause.fix.at.op == COPY for cause in found):
        return step
    if any(multiplies(scene, cause.before, cause.fix.at) for cause in found):
        return [replace(cause, fix=as_number(scene, cause.before, cause.fix)) for cause in found], after
    summing = [at for at in scene.classes if at.op in REDUCTIONS.values()]
    if any(cause.fix.at in summing for cause in found):
        return step
    numbers = (without_factor, own_numbers, other_numbers)
    for one in (*(Pass(partial(kind, scene), scene.classes) for kind in numbers), Pass(search.scales, summing)):
        other = _alone(search, state, one, [])
        if other is not None and other[1].wrong <= after.wrong and len(other[0]) <= len(found):
            return _instead(step, other), other[1]
    return step


def _instead(step: Found, other: Found) -> list[Cause]:
    """Other causes, with the word that those which were found mend the same, where they do."""
    same = step[1].wrong == other[1].wrong
    titles = dict.fromkeys(cause.fix.title for cause in step[0]) if same else ()
    notes = tuple(f"the same would be mended by another one: {title}" for title in titles)
    return [replace(cause, fix=cause.fix._replace(notes=(*cause.fix.notes, *notes))) for cause in other[0]]


def _one_by_one(search: Search, state: State, among: Pass) -> Found | None:
    """Corrections of one kind that mend all that differs together, each a part of it; None where they do not."""
    found: list[Cause] = []
    while state.different and len(found) < MOST_CAUSES:
        mending = one_of(search, state, among)
        if mending is None:
            return None
        found.append(mending.cause)
        state = mending.after
    return (found, state) if found else None


def _likewise(search: Search, first: Mending, among: Pass) -> Found:
    """A correction, and those of its kind in steps of the same operator and name: one line updates many weights."""
    found, state, at = [first.cause], first.after, first.cause.fix.at
    alike = among._replace(classes=[each for each in among.classes if each.kind == at.kind])
    while state.different and len(found) < MOST_CAUSES:
        mending = one_of(search, state, alike)
        if mending is None or mending.cause.fix.code != first.cause.fix.code:
            break
        found.append(mending.cause)
        state = mending.after
    return found, state


def _alone(search: Search, state: State, among: Pass, partly: list[tuple[Mending, Pass]]) -> Found | None:
    """Corrections that each mend all that depends on them, one after the other; the first that does not is kept."""
    found: list[Cause] = []
    while state.different and len(found) < MOST_CAUSES:
        mending = one_of(search, state, among)
        if mending is None or not mending.whole:
            partly.extend([(mending, among)] if mending is not None and not found else [])
            break
        found.append(mending.cause)
        state = mending.after
    return (found, state) if found else None
