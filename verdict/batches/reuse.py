"""Tasks whose pairs were proved before are not run, but for a sample; what is proved is kept."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from verdict.batches.cache import Cache, Entry, drop, get, is_sampled, name_of, put
from verdict.batches.question import Pair
from verdict.batches.run import Found, Task
from verdict.errors import PlanFileError, UsageError
from verdict.graph import Plan
from verdict.report import Measured
from verdict.report.many import Case, Standing, answered

Write = Callable[[Plan], str]
Run = Callable[[Sequence[Task]], list[Found]]


class Reuse(NamedTuple):
    """What is found of each task. used: how many were taken from the cache; again: how many of these were proved again;
    otherwise: how many of those came out otherwise, after which nothing of the cache is believed. unkept: why proofs
    could not be kept, "" where they could.
    """

    found: list[Found]
    used: int
    again: int
    otherwise: int
    unkept: str


def run_or_reuse(
    tasks: Sequence[Task], run: Run, cache: Cache, seed: int, version: str, write: Write, told: Callable[[Case], None]
) -> Reuse:
    """What is found of each task, in their order. seed: of the sample. write: the text of a plan that was recorded."""
    names = [_name(task, version, write) for task in tasks]
    entries = {place: entry for place, name in enumerate(names) if name and (entry := get(cache, name)) is not None}
    sample = {place for place in entries if is_sampled(names[place], seed)}
    found = _run_some(tasks, run, [place for place in range(len(tasks)) if place not in entries or place in sample])
    kept = {place: _reused(tasks[place], entry) for place, entry in entries.items()}
    wrong = [place for place in sorted(sample) if _told_of(found[place]) != _told_of(kept[place])]
    for place in wrong:
        drop(cache, names[place])
    others = [place for place in entries if place not in sample]
    if wrong:
        found |= _run_some(tasks, run, others)
    else:
        for place in others:
            found[place] = kept[place]
            told(found[place].case)
    unkept = ""
    try:
        for place, name in enumerate(names):
            _keep(tasks[place], found[place], cache, name, version, write)
    except UsageError as error:
        unkept = str(error)
    return Reuse([found[place] for place in range(len(tasks))], len(entries), len(sample), len(wrong), unkept)


def _run_some(tasks: Sequence[Task], run: Run, places: Sequence[int]) -> dict[int, Found]:
    return dict(zip(places, run([tasks[place] for place in places]), strict=True))


def _reused(task: Task, entry: Entry) -> Found:
    question = task.question
    return Found(answered(question.number, question.name, entry.report, Measured((), 0.0, 1)), entry.known)


def _told_of(found: Found) -> object:
    """What is said of a case: not how long it took, nor on which of its proofs a solver gave up."""
    case, report = found.case, found.case.report
    return case.standing, case.why, report and (report.due, report.evidence, report.assumptions), found.known


def _keep(task: Task, found: Found, cache: Cache, name: str, version: str, write: Write) -> None:
    """Keep a proof, unless the files have changed since they were asked about, or it is kept already."""
    report = found.case.report
    if not name or report is None or found.case.standing is not Standing.PROVED or not found.case.measured.seconds:
        return
    if _name(task, version, write) == name:
        put(cache, name, Entry(report, found.known))


def _name(task: Task, version: str, write: Write) -> str:
    """The name of a task's entry; "" where it can have none. Of a recorded plan both forms count: the text has every
    number in full, the other one every field.
    """
    asked, plans = task.question.asked, task.plans
    if isinstance(plans, Exception):
        return ""
    try:
        if plans is not None:
            contents = [f"{write(plan)}{plan!r}".encode() for plan in plans]
            return name_of(contents, [plan.source for plan in plans], task.question.settings, version)
        pair = asked if isinstance(asked, Pair) else Pair("", "")
        return name_of([Path(path).read_bytes() for path in pair], list(pair), task.question.settings, version)
    except (OSError, PlanFileError):
        return ""
