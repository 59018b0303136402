"""Which choices of data decide what programs do, and which choice of the single-device program each of a rank is.

What decides (a number that Python reads, a shape) must follow from choices alone: from what was chosen by real numbers,
or from integers of the data. These choices are premises, named in the report; behind them both plans go on with what
was chosen. A rank's choice is the single-device program's, or some rows of it, where the numbers that it was made
of are. That is found by the numbers of the recording, and claimed: what chooses becomes a further output of both plans,
which must be proved equal. So does every number that decided.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from verdict.backends.torch.deciding import At, Deciding
from verdict.backends.torch.trace import (
    CHOICE,
    DECISION,
    GIVEN,
    Choice,
    Step,
    Trace,
    living,
)

CLOSE = 1e-4
"""Of the greatest number of a row, how far numbers of one row may lie apart that were computed in two ways."""


class Match(NamedTuple):
    """A choice of a rank and the single-device program's: number of the latter, and which of its rows.

    ordered: whether nothing but its place says so.
    """

    choice: int
    rows: tuple[int, ...]
    ordered: bool = False


@dataclass(frozen=True)
class Corresponding:
    """Which choices decide. single: numbers of the single-device program's. parallel: of the ranks', each with what it
    corresponds to. covered: of the single-device program's those that ranks make all of. doubts: why nothing can be
    said of the parallel program, as clauses. told: decisions of ranks, by their values, that follow from what several
    of them chose, each with the value that is the single-device program's decision. loose: those of which nothing says
    that they are one, and those that follow from the former.
    """

    single: frozenset[int]
    parallel: Mapping[At, Match]
    covered: frozenset[int]
    doubts: tuple[str, ...]
    told: Mapping[At, int] = field(default_factory=dict)
    loose: frozenset[At] = frozenset()


def corresponding(single: Trace, parallel: Sequence[Trace]) -> Corresponding:
    """The choices that decide what the programs do, and which are one."""
    whole, ranks = Deciding([single]), Deciding(parallel)
    (alone, doubts), (across, others) = whole.all(), ranks.all()
    if not alone and not across:
        return Corresponding(frozenset(), {}, frozenset(), tuple(dict.fromkeys([*doubts, *others])))
    matches = {
        (rank, at): match
        for rank, trace in enumerate(parallel)
        for at, choice in enumerate(trace.choices)
        if (match := _given(choice, single, trace) or _made(choice, single.choices)) is not None
    }
    decided = _told_to_all(single, parallel, ranks, matches)
    across -= decided.among
    matches = {at: match for at, match in matches.items() if at not in decided.among | decided.apart}
    matches |= _by_order(single, parallel, matches, across - decided.apart)
    premises = {at for _, at in alone} | {matches[at].choice for at in across if at in matches}
    named = [single.choices[at] for at in premises]
    premises = {at for at, each in enumerate(single.choices) if any(_is_same(each, other) for other in named)}
    pinned = {at: match for at, match in matches.items() if match.choice in premises}
    found = [*doubts, *others]
    behind = set().union(*map(ranks.behind, decided.loose))
    found += [_unmatched(parallel, at) for at in sorted((across | behind) - pinned.keys())]
    found += [_otherwise(single, parallel, at, match) for at, match in pinned.items() if not match.ordered]
    used = {at: match for at, match in pinned.items() if at in across or _is_used(parallel[at[0]], at[1])}
    covered = {at for at in premises if _covered(single.choices[at], at, used.values())}
    covered |= {at for value in decided.told.values() for _, at in whole.behind((0, value))}
    found += [f"no ranks use all of a choice of the single-device program: {single.choices[at].place}"
              for at in sorted(premises - covered) if single.choices[at].rows]  # fmt: skip
    doubts = list(dict.fromkeys(filter(None, found)))
    skipped = decided.loose | decided.implied
    return Corresponding(frozenset(premises), used, frozenset(covered), tuple(doubts), decided.told, skipped)


class _Told(NamedTuple):
    """What decisions of ranks are. told: (rank, value) -> the single-device program's value that decides alike. loose:
    those that it does not decide alike. among: what was chosen for the first. apart: for others like them. implied:
    decisions that follow from what the first say of choices of single ranks.
    """

    told: Mapping[At, int]
    loose: frozenset[At]
    among: set[At]
    apart: set[At]
    implied: frozenset[At]


def _told_to_all(
    single: Trace, parallel: Sequence[Trace], ranks: Deciding, matches: Mapping[At, Match]
) -> _Told:
    """Decisions that all ranks make by what several of them chose (whether any has seen an overflow), where some of
    that is no choice of the single-device program's, and which that decides alike at the same place; those that it
    does not decide alike (how many have seen one).
    """
    places = [_decisions(trace) for trace in parallel]
    whole = {at: step for at, step in _decisions(single).items() if all(at in each for each in places)}
    says = {
        (rank, step.inputs[0]): ranks.implied(rank, step)
        for rank, own in enumerate(places)
        for place, step in own.items()
        if place in whole and whole[place].attrs == step.attrs
    }
    settled = set().union(*says.values())
    found = _sorted_out(parallel, ranks, matches, places, whole, settled)
    if settled <= set().union(*(says[at] for at in found.told)):
        return found
    return _sorted_out(parallel, ranks, matches, places, whole, set())


def _sorted_out(
    parallel: Sequence[Trace], ranks: Deciding, matches: Mapping[At, Match],
    places: Sequence[Mapping[tuple[str, int], Step]], whole: Mapping[tuple[str, int], Step], settled: set[At],
) -> _Told:  # fmt: skip
    """Which decision is what. settled: choices of which those that are told say what they are.

    Whole numbers (what is rounded, cut off) may chance to be those of another choice: they match none for certain.
    """
    certain = {at for at in matches if not _is_whole(parallel[at[0]].choices[at[1]])}
    found: dict[At, int] = {}
    behind: dict[At, set[At]] = {}
    alone, apart, loose, implied = set[At](), set[At](), set[At](), set[At]()
    for rank, own in enumerate(places):
        for place, step in own.items():
            at = rank, step.inputs[0]
            choices = ranks.behind(at)
            several = len({rank for rank, _ in choices}) > 1 and all(parallel[r].choices[n].rows for r, n in choices)
            alike = place in whole and whole[place].attrs == step.attrs
            if several and alike and not choices <= certain:
                found[at], behind[at] = whole[place].inputs[0], choices
            elif choices and choices <= settled:
                implied.add(at)
            elif several and not choices <= matches.keys():
                apart |= choices
                loose.add(at)
            else:
                alone |= choices
    found = {at: value for at, value in found.items() if behind[at].isdisjoint(alone | apart)}
    told = {choice for at in found for choice in behind[at]}
    loose |= behind.keys() - found.keys()
    apart = set().union(apart, *behind.values()) - told - alone
    return _Told(found, frozenset(loose), told, apart, frozenset(implied))


def _decisions(trace: Trace) -> dict[tuple[str, int], Step]:
    """The decisions of a program by what they are called, and the number among those that are called so."""
    number: Counter[str] = Counter()
    found: dict[tuple[str, int], Step] = {}
    for step in trace.steps:
        if step.op == DECISION:
            number[step.name] += 1
            found[step.name, number[step.name]] = step
    return found


def _is_used(trace: Trace, number: int) -> bool:
    """Whether an output, or what is communicated, is made of what was chosen."""
    value = trace.choices[number].value
    steps = tuple(step._replace(keep=step.keep and step.op not in (CHOICE, DECISION)) for step in trace.steps)
    ends = any(bound.value == value and bound.kind not in GIVEN for bound in trace.bound)
    return ends or any(value in step.inputs for step in living(replace(trace, steps=steps)).steps)


def _is_whole(choice: Choice) -> bool:
    """Whether all numbers that something was chosen by are whole ones."""
    return all(number.is_integer() for row in choice.rows for number in row)


def _is_same(one: Choice, other: Choice) -> bool:
    return (one.op, one.rows, one.chosen) == (other.op, other.rows, other.chosen)


def rows_in(choice: Choice) -> int:
    """How many rows a choice has; of an input each element is one."""
    return len(choice.rows) or len(choice.chosen)


def _given(choice: Choice, single: Trace, trace: Trace) -> Match | None:
    """Which elements of an input of integers a rank has."""
    if choice.rows:
        return None
    bound = next(bound for bound in trace.bound if bound.value == choice.source)
    for at, other in enumerate(single.choices):
        if other.op == choice.op and not other.rows and prod(bound.shape) == len(other.chosen):
            places = np.arange(len(other.chosen)).reshape(bound.shape)
            own = places[tuple(slice(start, stop) for start, stop in bound.region)]
            return Match(at, tuple(int(place) for place in own.reshape(-1)))
    return None


def _made(choice: Choice, others: Sequence[Choice]) -> Match | None:
    """The choice, and the rows of it, that are made of the numbers that `choice` is made of."""
    for at, other in enumerate(others):
        if other.op != choice.op or not other.rows or not choice.rows:
            continue
        rows = _rows_of(np.asarray(choice.rows), np.asarray(other.rows))
        if rows is not None:
            return Match(at, rows)
    return None


def _rows_of(some: npt.NDArray[Any], others: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """For each row the one of the others that has its numbers; neighbours if these do."""
    if some.shape[1] != others.shape[1] or len(some) > len(others):
        return None
    bound = CLOSE * np.maximum(np.abs(some).max(1, initial=0.0), 1e-30)
    for start in range(len(others) - len(some) + 1):
        if np.all(np.abs(others[start : start + len(some)] - some).max(1, initial=0.0) <= bound):
            return tuple(range(start, start + len(some)))
    gaps = [np.abs(others - row).max(1, initial=0.0) for row in some]
    if any(gap.min() > least for gap, least in zip(gaps, bound, strict=True)):
        return None
    return tuple(int(gap.argmin()) for gap in gaps)


def _by_order(
    single: Trace, parallel: Sequence[Trace], matches: Mapping[At, Match], across: set[At]
) -> dict[At, Match]:
    """Of choices that are made of no numbers of the single-device program's, those that stand in the place of one.

    They are made by the same operator, and no other rank makes that choice; what is claimed of them is refuted.
    """
    by_op: dict[str, list[At]] = defaultdict(list)
    for at in sorted(across - matches.keys()):
        by_op[parallel[at[0]].choices[at[1]].op].append(at)
    found: dict[At, Match] = {}
    for op, places in by_op.items():
        for rank in sorted({rank for rank, _ in places}):
            taken = {match.choice for (other, _), match in matches.items() if other == rank}
            open_ = [at for at, each in enumerate(single.choices) if each.op == op and each.rows and at not in taken]
            own = [place for place in places if place[0] == rank]
            for place, number in zip(own, open_, strict=False):
                mine, whole = parallel[rank].choices[place[1]], single.choices[number]
                count, width = len(mine.rows), len(mine.chosen) // max(len(mine.rows), 1)
                if width * len(whole.rows) != len(whole.chosen) or count > len(whole.rows):
                    continue
                start = rank * count if count * len(parallel) == len(whole.rows) else 0
                found[place] = Match(number, tuple(range(start, start + count)), ordered=True)
    return found


def _unmatched(parallel: Sequence[Trace], at: At) -> str:
    place = parallel[at[0]].choices[at[1]].place
    return f"rank {at[0]} goes on by a choice that the single-device program does not make: {place}"


def _otherwise(single: Trace, parallel: Sequence[Trace], at: At, match: Match) -> str:
    """That a rank chose otherwise than the single device did of the same numbers, "" where it did not."""
    choice = parallel[at[0]].choices[at[1]]
    if chosen_of(single.choices[match.choice], match.rows) == choice.chosen:
        return ""
    return f"on the numbers of the recording rank {at[0]} chooses otherwise than the single device: {choice.place}"


def chosen_of(choice: Choice, rows: Sequence[int]) -> tuple[int, ...]:
    """What was chosen in some rows of a choice."""
    whole = np.asarray(choice.chosen, dtype=np.int64).reshape(rows_in(choice), -1)
    return tuple(int(number) for number in whole[list(rows)].reshape(-1))


def _covered(choice: Choice, at: int, matches: Any) -> bool:
    rows = {row for match in matches if match.choice == at for row in match.rows}
    return len(rows) == rows_in(choice)


