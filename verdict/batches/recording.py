"""The programs of a list, recorded before anything is decided: by processes that import torch once, or on a cluster."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from verdict.backends.torch.command import BUILD, BUILD_SINGLE, plan_or_error, recorded_each
from verdict.backends.torch.confirmation import NOT_ASKED, NOT_RUN, Confirmation, too_many
from verdict.backends.torch.job import LIVE
from verdict.backends.torch.keeping import Answer, Kept, Shelf, Side, record_or_reuse
from verdict.backends.torch.kept import KEPT, Manner, depends, told_of
from verdict.backends.torch.launch import Recorded, Target
from verdict.batches.cache import Cache, drop, get_bytes, is_sampled, put_bytes
from verdict.batches.executor import Executor, Lost
from verdict.batches.question import AUTO, FAKE, REAL, Program, Question
from verdict.batches.run import Task
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.outcome import Unknown
from verdict.progress import Bar

BLOCK = 16
"""So many ranks of a program that is not run are recorded by one task of a cluster."""
LONGEST = 24 * 3600.0
"""Seconds for a program as a task: its ranks and its runs have limits of their own."""
ONE_RECORDING_IN = 64
"""Of so many kept recordings one is made again, on average: fewer than of proofs, as it begins a process with torch."""


class Tasks(NamedTuple):
    """The tasks of a list. depends: of the programs, by number, what their recordings depend on, as data; used, again,
    otherwise, unkept: as of `keeping.Kept`; always: why programs are recorded every time, by what they are called.
    """

    tasks: list[Task]
    depends: dict[int, list[dict[str, Any]]]
    used: int
    again: int
    otherwise: int
    unkept: str
    always: dict[str, str]


class OnDisk(NamedTuple):
    """The recordings of a cache. seed: of the sample. keeps: whether those that are made are kept, too."""

    cache: Cache
    seed: int
    keeps: bool = True

    def get(self, name: str) -> bytes | None:
        """What is kept by this name."""
        return get_bytes(self.cache, name)

    def put(self, name: str, content: bytes) -> None:
        """Keep it."""
        if self.keeps:
            put_bytes(self.cache, name, content)

    def drop(self, name: str) -> None:
        """Keep it no longer."""
        drop(self.cache, name)

    def is_sampled(self, name: str) -> bool:
        """Whether it is made again."""
        return is_sampled(name, self.seed, ONE_RECORDING_IN)


def tasks_of(
    questions: Sequence[Question], shelf: Shelf | None, version: str, executor: Executor | None = None
) -> Tasks:
    """The tasks of a list. shelf: where recordings are kept, None where they are not. version: of Verdict. executor:
    what records each program as a task of its own; without, processes of this machine record all of them.
    """
    programs = [question for question in questions if isinstance(question.asked, Program)]
    plans: dict[int, Any] = {}
    wanted: dict[int, tuple[Side, Side]] = {}
    for question in programs:
        try:
            wanted[question.number] = _sides(question.asked)
        except VerdictError as error:
            plans[question.number] = error
    told: list[Kept] = []
    on: dict[int, list[dict[str, Any]]] = {}

    def record(questions: Sequence[Question], tensors: str = "") -> None:
        """tensors: on which they are recorded; as each question says without."""
        manner = partial(_manner, tensors=tensors)
        for (how, confirm, keeps), group in groupby(sorted(questions, key=manner), key=manner):
            numbers = [question.number for question in group]
            sides = list(dict.fromkeys(side for number in numbers for side in wanted[number]))
            kept = _recorded(sides, Manner(how, confirm, version), shelf if keeps else None, executor)
            told.append(kept)
            lasting = {side for side in sides if shelf is not None and keeps and side not in kept.always}
            for number in numbers:
                both = [_plan(side, kept.found[side], side in lasting) for side in wanted[number]]
                wrong = next((plan for plan in both if not isinstance(plan, Plan)), None)
                plans[number] = tuple(both) if wrong is None else wrong
                on[number] = [told for side in wanted[number] if side in lasting for told in _depends(side, kept)]

    there = [question for question in programs if question.number in wanted]
    record(there)
    record([question for question in there if _needs_numbers(question, plans[question.number])], REAL)
    return Tasks(
        [Task(question, plans.get(question.number)) for question in questions],
        on,
        sum(each.used for each in told),
        sum(each.again for each in told),
        sum(each.otherwise for each in told),
        next((each.unkept for each in told if each.unkept), ""),
        {f"{side[0]} on {side[1]}": why for each in told for side, why in each.always.items()},
    )


def _recorded(sides: Sequence[Side], manner: Manner, shelf: Shelf | None, executor: Executor | None) -> Kept:
    record = partial(_record, manner=manner, watched=shelf is not None)
    if executor is not None:
        record = partial(record_as_tasks, manner=manner, watched=shelf is not None, executor=executor)
    if shelf is None:
        return Kept(dict(zip(sides, record(sides), strict=True)))
    return record_or_reuse(sides, manner, record, shelf)


def _record(sides: Sequence[Side], manner: Manner, watched: bool) -> list[Answer]:
    with Bar() as bar:
        return recorded_each(sides, manner.tensors, manner.confirm, bar.advance, watched)


class Asked(NamedTuple):
    """A program that is to be recorded by another process, with the variables that it is to have. ranks: those that are
    recorded; none are all, which are run, too, if the manner says so.
    """

    side: Side
    manner: Manner
    watched: bool
    variables: Mapping[str, str]
    ranks: tuple[int, ...] = ()


def record_as_tasks(sides: Sequence[Side], manner: Manner, watched: bool, executor: Executor) -> list[Answer]:
    """The recordings of programs, or why there are none: Lost where whoever was to record one was lost. One that is run
    is a task, one that has too many ranks for that is a task for each block of its ranks.
    """
    found: dict[int, Answer] = {}
    variables = dict(os.environ)
    asked = [Asked(side, manner, watched, variables, ranks) for side in sides for ranks in blocks(side[1], manner)]
    with Bar() as bar:

        def told(place: int, outcome: Answer | Unknown) -> None:
            found[place] = Lost(outcome.reason) if isinstance(outcome, Unknown) else outcome
            bar.advance("recording", len(found), len(asked), "tasks")

        bar.advance("recording", 0, len(asked), "tasks")
        executor(asked, record_one, told, LONGEST)
    pieces = dict[Side, list[Answer]]()
    for place, each in enumerate(asked):
        pieces.setdefault(each.side, []).append(found[place])
    return [_joined(pieces[side], side[1], manner) for side in sides]


def blocks(world: int, manner: Manner) -> list[tuple[int, ...]]:
    """The ranks of each task that records a part of a program, or one task that has them all: what is run, and what is
    recorded together, needs all of its ranks in one place.
    """
    if manner.tensors == LIVE or not too_many(world):
        return [()]
    return [tuple(range(first, min(first + BLOCK, world))) for first in range(0, world, BLOCK)]


def _joined(pieces: Sequence[Answer], world: int, manner: Manner) -> Answer:
    """The recording of a program from those of its blocks of ranks, or the first reason why there is none."""
    whole = [piece for piece in pieces if isinstance(piece, Recorded)]
    if len(pieces) == 1 or len(whole) < len(pieces):
        return next((piece for piece in pieces if not isinstance(piece, Recorded)), pieces[0])
    traces = tuple(trace for piece in whole for trace in piece.traces)
    seen = {json.dumps(line): line for piece in whole for line in piece.seen}
    confirmation = Confirmation(NOT_RUN, too_many(world)) if manner.confirm else NOT_ASKED
    told = tuple(seen[key] for key in sorted(seen))
    return Recorded(traces, confirmation, told, sum(each.processes for each in whole))


def record_one(asked: Asked) -> Answer:
    """What one task records, by this process, with its variables in the place of this process's own."""
    own, manner = dict(os.environ), asked.manner
    os.environ.clear()
    os.environ.update(asked.variables)
    try:
        how = manner.tensors, manner.confirm, lambda *_: None, asked.watched
        return recorded_each([asked.side], *how, cores=1, ranks=asked.ranks)[0]
    finally:
        os.environ.clear()
        os.environ.update(own)


def _plan(side: Side, found: Answer, lasting: bool) -> Plan | VerdictError | RuntimeError:
    """The plan of a program. lasting: whether its recording is kept, or was, which its plan then says."""
    plan = plan_or_error(side[0], found)
    return told_of(plan, found) if lasting and isinstance(plan, Plan) and isinstance(found, Recorded) else plan


def _depends(side: Side, kept: Kept) -> list[dict[str, Any]]:
    found = kept.found[side]
    return [depends(side[0], found)] if isinstance(found, Recorded) else []


def _manner(question: Question, tensors: str) -> tuple[str, bool, bool]:
    """How a program is recorded; last, whether a kept recording would do."""
    asked: Any = question.asked
    how = tensors or (FAKE if asked.tensors == AUTO else asked.tensors)
    return how, asked.confirm, KEPT not in question.settings.denied


def _needs_numbers(question: Question, found: object) -> bool:
    """Whether what was not recorded on tensors without data is to be recorded on real ones."""
    asked: Any = question.asked
    return asked.tensors == AUTO and isinstance(found, UsageError)


def _sides(asked: Any) -> tuple[Side, Side]:
    """The two programs, each with its number of ranks."""
    parallel = Target.of(asked.program, BUILD)
    return (Target.of(asked.single or parallel.file, BUILD_SINGLE), 1), (parallel, asked.world)

