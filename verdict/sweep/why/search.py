"""One step of the search: the corrections that there are, and the one of a kind that mends outputs and breaks none."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from verdict.sweep.compare import Different
from verdict.sweep.why.again import done_again
from verdict.sweep.why.among import concerned
from verdict.sweep.why.behind import behind_sums
from verdict.sweep.why.cone import cone_of
from verdict.sweep.why.copies import copies
from verdict.sweep.why.counted import counted_often, joined_often
from verdict.sweep.why.elsewhere import as_elsewhere
from verdict.sweep.why.factors import Scaled, factors, solved
from verdict.sweep.why.fix import Fix
from verdict.sweep.why.gathers import gathers
from verdict.sweep.why.inputs import MISPLACED, UNSUMMED, other_input
from verdict.sweep.why.layouts import layouts
from verdict.sweep.why.lookups import split_lookups
from verdict.sweep.why.mend import Budget, State, behind, improved, mended
from verdict.sweep.why.missing import lost_summands, missing_sums
from verdict.sweep.why.needless import needless
from verdict.sweep.why.once import shared
from verdict.sweep.why.runs import attributes_of_runs
from verdict.sweep.why.scaled import off
from verdict.sweep.why.scene import Scene
from verdict.sweep.why.siblings import Siblings
from verdict.sweep.why.steps import other_attributes, other_operator
from verdict.sweep.why.summands import doubled, superfluous
from verdict.sweep.why.sums import KINDS, reductions
from verdict.sweep.why.turned import signed, turned
from verdict.sweep.why.unscaled import unscaled
from verdict.sweep.why.unsummed import unsummed


@dataclass(frozen=True, slots=True)
class Cause:
    """A correction that mends outputs. before: the state without it. mends: the outputs."""

    fix: Fix
    before: State
    mends: tuple[Different, ...]


Kind = Callable[[Scene, State, Siblings], Iterator[Fix]]


def _held(scene: Scene, state: State, at: Siblings) -> Iterator[Fix]:
    """Values that the rank has, and other shares or sums of what it reads; each once."""
    tried = set[Hashable]()
    for fix in (fix for held, fix in _inputs(scene, state, at) if held):
        change = tuple((k, arrays[0].tobytes()) for part in fix.change for k, arrays in part.items())
        if (fix.code, change) not in tried:
            tried.add((fix.code, change))
            yield fix


def _inputs(scene: Scene, state: State, at: Siblings) -> Iterator[tuple[bool, Fix]]:
    """What `other_input` finds, found once."""
    return shared(state, (other_input, id(at)), partial(other_input, scene, state, at))


@dataclass(frozen=True, slots=True)
class Search:
    """What a search needs beside the state."""

    scene: Scene
    scaled: Scaled

    def of(self, kind: Kind, state: State, at: Siblings) -> Iterator[Fix]:
        """Corrections of a kind, that are made once for a state and matching steps, which stay while the scene does."""
        return shared(state, (kind, id(at)), lambda: kind(self.scene, state, at))

    def fixes(self, state: State, at: Siblings) -> Iterator[Fix]:
        """All corrections of matching steps, but for those that are looked for last."""
        yield from self.of(reductions, state, at)
        yield from self.of(gathers, state, at)
        yield from self.of(other_attributes, state, at)
        yield from self.of(_held, state, at)
        yield from self.scales(state, at)
        yield from self.of(counted_often, state, at)
        yield from self.of(missing_sums, state, at)
        yield from self.of(lost_summands, state, at)

    def collectives(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What ranks sum and join, otherwise; what each of them adds to a part."""
        yield from self.of(reductions, state, at)
        yield from self.of(gathers, state, at)
        yield from self.added(state, at)

    def made_whole(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What ranks sum and join, otherwise, where single-device values are made so of what is none."""
        made = [value for number in at.steps.values() for value in self.scene.step(number).outputs]
        if at.op in KINDS and all(state.look(self.scene, value) is None for value in made):
            yield from (fix for fix in self.of(reductions, state, at) if gives_own(self.scene, fix))

    def again(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What is done twice to a summand; summands that are there twice."""
        yield from done_again(self.scene, state, at)
        yield from doubled(self.scene, state, at)

    def left_out(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What the single-device plan does where a node does nothing."""
        yield from copies(self.scene, state, at, self.scaled)

    def cuts(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Shares that are cut in another way."""
        yield from layouts(self.scene, state, at)

    def order(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Operators that stand behind a sum over ranks."""
        yield from behind_sums(self.scene, state, at)

    def too_many(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Sums without one of their summands."""
        yield from superfluous(self.scene, state, at)

    def operators(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Operators of the single-device plan on the same values."""
        yield from other_operator(self.scene, state, at)

    def attributes(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Attributes of the single-device step, but for what a mean counts, which is another one on a share."""
        yield from (fix for fix in self.of(other_attributes, state, at) if fix.code != "wrong-scale")

    def lookups(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Rows of a table of which each rank has some."""
        yield from split_lookups(self.scene, state, at)

    def runs(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Attributes of each run of a line."""
        yield from attributes_of_runs(self.scene, state, at)

    def of_constants(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What is done to numbers that nobody gives: with other attributes, or at all."""
        yield from self.attributes(state, at)
        yield from needless(self.scene, state, at)

    def shares(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Other shares of what they read."""
        yield from (fix for fix in self.of(_held, state, at) if fix.code in MISPLACED)

    def elsewhere(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What the same operator reads in another place."""
        yield from as_elsewhere(self.scene, state, at)

    def sums(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Parts that nobody sums."""
        yield from self.of(missing_sums, state, at)

    def read_early(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Sums that the rank has, where a part of them is read."""
        shares = self.of(_held, state, at)
        yield from (fix for fix in shares if UNSUMMED in fix.kin)

    def parts(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What is a part of a sum, where it is read."""
        shares = self.of(_held, state, at)
        yield from (fix for fix in shares if fix.code == "missing-reduction")

    def unlikely(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Values that the rank has not at all."""
        yield from (fix for held, fix in _inputs(self.scene, state, at) if not held)

    def scales(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Factors."""
        yield from shared(state, (factors, id(at)), partial(factors, self.scene, state, at, self.scaled))

    def off(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Numbers in steps without a factor by which outputs are off."""
        yield from off(self.scene, state, at)

    def restoring(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Those for which steps do not make single-device values just because they are given some."""
        yield from self.collectives(state, at)
        yield from (fix for fix in self.attributes(state, at) if fix.single)
        shares = self.of(_held, state, at)
        yield from (fix for fix in shares if fix.code in ("missing-reduction", "wrong-slice", "wrong-order"))
        yield from self.sums(state, at)

    def parts_added(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What is added to parts of sums, and parts that nobody sums."""
        yield from self.added(state, at)
        yield from self.sums(state, at)

    def restoring_scaled(self, state: State, at: Siblings) -> Iterator[Fix]:
        """These, and factors: parts of a mean over ranks are off by one where nothing is wrong."""
        yield from self.restoring(state, at)
        yield from self.scales(state, at)

    def added(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What each rank adds to a part of a sum."""
        yield from self.of(counted_often, state, at)
        yield from self.of(joined_often, state, at)

    def turned(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Differences the other way round."""
        yield from turned(self.scene, state, at)

    def signed(self, state: State, at: Siblings) -> Iterator[Fix]:
        """Sums for differences, and the other way round."""
        yield from signed(self.scene, state, at)

    def unscaled(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What is multiplied in sums beside."""
        yield from unscaled(self.scene, state, at)

    def unsummed(self, state: State, at: Siblings) -> Iterator[Fix]:
        """What ranks make otherwise, summed on trial."""
        yield from unsummed(self.scene, state, at)

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


def one_of(search: Search, state: State, among: Pass, budget: Budget | None = None) -> Mending | None:
    """The earliest correction that mends all that depends on it, else the one that mends most."""
    best: Mending | None = None
    budget = budget or Budget()
    for at in concerned(search.scene, state, among.classes):
        for fix in among.kind(state, at):
            after = improved(search.scene, state, fix.change, budget)
            if budget.left < 0:
                return best
            if after is None:
                continue
            whole = after.wrong.isdisjoint(behind(search.scene, fix.change, fix.at))
            found = Mending(cause_of(state, after, fix), after, whole)
            if not whole and by_chance(search.scene, found):
                continue
            if whole:
                return found
            if best is None or len(after.wrong) < len(best.after.wrong):
                best = found
    return best


def made_by(scene: Scene, fix: Fix) -> set[int]:
    """What the steps make that a correction is about."""
    return {v for place in fix.instances for v in scene.step(fix.at.steps[place]).outputs}


def makes_own(scene: Scene, fix: Fix) -> bool:
    """Whether what steps make is replaced by single-device values, for all that read it."""
    made = made_by(scene, fix)
    direct = [arrays for value, arrays in fix.change.values.items() if value in made]
    return bool(direct) and all(scene.look(arrays) is not None for arrays in direct)


def gives_own(scene: Scene, fix: Fix) -> bool:
    """Whether what steps make is replaced by single-device values, for all that read it or for each rank that does."""
    reads = [arrays for (value, _), arrays in fix.change.reads.items() if value in made_by(scene, fix)]
    return makes_own(scene, fix) or (bool(reads) and all(scene.look(arrays) is not None for arrays in reads))


def by_chance(scene: Scene, found: Mending) -> bool:
    """Whether all that a correction mends is computed from what is wrong still: the first step of an optimizer that
    looks at the signs of gradients may be right with wrong ones.
    """
    wrong = [item.result.value for item in found.after.different]
    for item in found.cause.mends:
        before = cone_of(scene, [item.result.value])
        if not any(value != item.result.value and scene.maker.get(value) in before for value in wrong):
            return False
    return True


def cause_of(state: State, after: State, fix: Fix) -> Cause:
    wrong = {_name(item) for item in after.different}
    return Cause(fix, state, tuple(item for item in state.different if _name(item) not in wrong))


def _name(item: Different) -> tuple[object, ...]:
    return item.result.key, item.result.what, item.result.where
