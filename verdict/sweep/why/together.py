"""What is counted too often at several steps of one line: the norm to which each rank adds all that it has whole."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain

from verdict.sweep.why.among import before_wrong
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.mend import MOST_APPLIED, Budget, State, mended
from verdict.sweep.why.search import Found, Search, cause_of
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.sums import copies_summed
from verdict.sweep.why.words import called

MOST_TOGETHER = 24
"""How many steps of one line are put right together: the weights of a model that nobody cuts, each of which is tried
without all others."""


def together(search: Search, state: State) -> Found | None:
    """Corrections at steps of one line that mend outputs together, none of which mends any by itself."""
    cone = before_wrong(search.scene, state)
    lines = defaultdict[tuple[str, str], list[Siblings]](list)
    for at in search.scene.classes:
        if not cone.isdisjoint(at.steps.values()):
            lines[at.op, called(at.op, at.name)].append(at)
    found = (_needed(search, state, alike) for alike in lines.values() if len(alike) > 1)
    return next((step for step in found if step is not None), None)


def _needed(search: Search, state: State, alike: Sequence[Siblings]) -> Found | None:
    """The corrections of some steps without which fewer outputs are mended; None where all of them mend none."""
    fixes, after = _put_right(search, state, alike)
    if not 1 < len(fixes) <= MOST_TOGETHER or not after.wrong < state.wrong:
        return None
    needed = [fix.at for fix in fixes]
    for at in tuple(needed):
        rest = [other for other in needed if other is not at]
        found, without = _put_right(search, state, rest)
        if len(found) == len(rest) and without.wrong <= after.wrong:
            needed, fixes, after = rest, found, without
    return [cause_of(state, after, fix) for fix in fixes], after


def _put_right(search: Search, state: State, steps: Sequence[Siblings]) -> tuple[list[Fix], State]:
    """What is counted too often at some steps, one after the other, and what comes of it."""
    found, budget = list[Fix](), Budget(MOST_APPLIED)
    for at in steps:
        for fix in _counted(search, state, at):
            after = mended(search.scene, state, fix.change, budget)
            if after is not None:
                found.append(fix)
                state = after
                break
    return found, state


def _counted(search: Search, state: State, at: Siblings) -> Iterator[Fix]:
    fixes = chain(search.added(state, at), search.of(copies_summed, state, at))
    return (fix for fix in fixes if fix.code == "reduced-twice")
