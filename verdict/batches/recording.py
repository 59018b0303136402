"""The programs of a list, recorded before anything is decided: by processes that import torch once, or on a cluster."""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from verdict.backends.torch.command import BUILD, BUILD_SINGLE, plan_or_error, recorded_each
from verdict.backends.torch.keeping import Answer, Kept, Shelf, Side, record_or_reuse
from verdict.backends.torch.kept import KEPT, Manner, depends, told_of
from verdict.backends.torch.launch import Recorded, Target
from verdict.batches.cache import Cache, drop, get_bytes, is_sampled, put_bytes
from verdict.batches.executor import Executor, Lost
from verdict.batches.question import Program, Question
from verdict.batches.run import Task
from verdict.errors import VerdictError
from verdict.graph import Plan
from verdict.outcome import Unknown
from verdict.progress import Bar

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
    alike = sorted((q for q in programs if q.number in wanted), key=_manner)
    for (tensors, confirm, keeps), group in groupby(alike, key=_manner):
        numbers = [question.number for question in group]
        sides = list(dict.fromkeys(side for number in numbers for side in wanted[number]))
        kept = _recorded(sides, Manner(tensors, confirm, version), shelf if keeps else None, executor)
        told.append(kept)
        lasting = {side for side in sides if shelf is not None and keeps and side not in kept.always}
        for number in numbers:
            both = [_plan(side, kept.found[side], side in lasting) for side in wanted[number]]
            wrong = next((plan for plan in both if not isinstance(plan, Plan)), None)
            plans[number] = tuple(both) if wrong is None else wrong
            on[number] = [told for side in wanted[number] if side in lasting for told in _depends(side, kept)]
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
        record = partial(_record_as_tasks, manner=manner, watched=shelf is not None, executor=executor)
    if shelf is None:
        return Kept(dict(zip(sides, record(sides), strict=True)))
    return record_or_reuse(sides, manner, record, shelf)


def _record(sides: Sequence[Side], manner: Manner, watched: bool) -> list[Answer]:
    with Bar() as bar:
        return recorded_each(sides, manner.tensors, manner.confirm, bar.advance, watched)


class Asked(NamedTuple):
    """A program that is to be recorded by another process, with the variables that it is to have."""

    side: Side
    manner: Manner
    watched: bool
    variables: Mapping[str, str]


def _record_as_tasks(sides: Sequence[Side], manner: Manner, watched: bool, executor: Executor) -> list[Answer]:
    """The recordings of programs, or why there are none: Lost where whoever was to record one was lost."""
    found: dict[int, Answer] = {}
    variables = dict(os.environ)
    with Bar() as bar:

        def told(place: int, outcome: Answer | Unknown) -> None:
            found[place] = Lost(outcome.reason) if isinstance(outcome, Unknown) else outcome
            bar.advance("recording", len(found), len(sides), "programs")

        bar.advance("recording", 0, len(sides), "programs")
        executor([Asked(side, manner, watched, variables) for side in sides], record_one, told, LONGEST)
    return [found[place] for place in range(len(sides))]


def record_one(asked: Asked) -> Answer:
    """The recording of one program by this process, with its variables in the place of this process's own."""
    own, manner = dict(os.environ), asked.manner
    os.environ.clear()
    os.environ.update(asked.variables)
    try:
        return recorded_each([asked.side], manner.tensors, manner.confirm, lambda *_: None, asked.watched, cores=1)[0]
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


def _manner(question: Question) -> tuple[str, bool, bool]:
    """How a program is recorded; last, whether a kept recording would do."""
    asked: Any = question.asked
    return asked.tensors, asked.confirm, KEPT not in question.settings.denied


def _sides(asked: Any) -> tuple[Side, Side]:
    """The two programs, each with its number of ranks."""
    parallel = Target.of(asked.program, BUILD)
    return (Target.of(asked.single or parallel.file, BUILD_SINGLE), 1), (parallel, asked.world)

