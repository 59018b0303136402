"""Questions to cases: each within its limits, by whichever executor runs them."""

import gc
import os
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from verdict.batches.executor import Executor, Lost
from verdict.batches.question import Pair, Question
from verdict.errors import UsageError, VerdictError
from verdict.graph import Plan
from verdict.limits import OutOfTime, limited
from verdict.measure import Stopwatch
from verdict.observer import Phase
from verdict.options import Options
from verdict.outcome import Unknown
from verdict.phases import known_assumptions
from verdict.pipeline import verify
from verdict.report import Measured
from verdict.report.many import Case, Standing, answered

BEHIND = 30.0
"""Seconds beyond the limit of its question that a worker may take to end and to send its answer."""

Load = Callable[[Sequence[str]], list[Plan]]
Plans = tuple[Plan, Plan]


class Task(NamedTuple):
    """A question. plans: those of a program that was recorded, or why it was not; None where files hold them."""

    question: Question
    plans: Plans | VerdictError | RuntimeError | None = None


class Found(NamedTuple):
    """A case, and the denied assumptions that its plans know."""

    case: Case
    known: frozenset[str] = frozenset()


def run_tasks(
    tasks: Sequence[Task], executor: Executor, load: Load, memory_mib: int | None, told: Callable[[Case], None]
) -> list[Found]:
    """What is found of each task, in their order. told: of each case as soon as it is known."""
    found: dict[int, Found] = {}

    def keep(place: int, outcome: Found | Unknown) -> None:
        found[place] = _lost(tasks[place].question, outcome.reason) if isinstance(outcome, Unknown) else outcome
        told(found[place].case)

    seconds = max((task.question.settings.time_limit for task in tasks), default=0.0) + BEHIND
    executor(tasks, partial(answer, load=load, memory_mib=memory_mib), keep, seconds)
    return [found[place] for place in range(len(tasks))]


def answer(task: Task, load: Load, memory_mib: int | None) -> Found:
    """The case of one task, decided here. Only an interrupt is no case."""
    question, watch = task.question, Stopwatch()
    gc.disable()
    try:
        watch.begin(Phase.LOAD)
        options = question.settings.options(memory_mib)
        plans = _plans(task, load, options)
        report = verify(*plans, options, _Timed(watch))
        known = known_assumptions(plans) & options.denied
        return Found(answered(question.number, question.name, report, watch.measured(1)), known)
    except VerdictError as error:
        return _without(question, Standing.REFUSED, str(error), watch)
    except Lost as error:
        return _lost(question, str(error))
    except MemoryError:
        return _lost(question, "there was not enough memory")
    except Exception:
        return _without(question, Standing.FAILED, traceback.format_exc(), watch)
    finally:
        gc.enable()


def _plans(task: Task, load: Load, options: Options) -> Plans:
    if isinstance(task.plans, Exception):
        raise task.plans
    asked = task.question.asked
    if task.plans is not None or not isinstance(asked, Pair):
        return task.plans or _never_recorded(asked)
    if os.path.realpath(asked.single) == os.path.realpath(asked.parallel) and os.path.exists(asked.single):
        raise UsageError(asked.single, "it is given as both plans", "give the single-device plan and the parallel plan")
    try:
        with limited(options.limits):
            single, parallel = load((asked.single, asked.parallel))
    except (OutOfTime, MemoryError) as error:
        problem = f"they were not read: {options.limits.in_words(error)}"
        raise UsageError("the plans", problem, "give it more") from None
    return single, parallel


def _never_recorded(asked: object) -> Plans:
    raise RuntimeError(f"{asked} was not recorded")


def _without(question: Question, standing: Standing, why: str, watch: Stopwatch) -> Found:
    return Found(Case(question.number, question.name, standing, why, None, watch.measured(1)))


def _lost(question: Question, why: str) -> Found:
    return Found(Case(question.number, question.name, Standing.UNKNOWN, why, None, Measured((), 0.0, 1)))


class _Timed:
    """An observer that times the phases."""

    def __init__(self, watch: Stopwatch) -> None:
        self._watch = watch

    def begin(self, phase: Phase, given: object = None) -> None:
        """Time the phase."""
        if phase != self._watch.phase:
            self._watch.begin(phase)

    def advance(self, phase: Phase, done: int, total: int, counted: str) -> None:
        """Nothing."""
