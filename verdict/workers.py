"""Stages to outcomes in a pool of processes, each task within limits of time and memory.

A worker that takes too long, dies or runs out of memory costs its own task an Unknown, nothing else; where tasks have
several attempts, what a worker died of is tried anew. The workers are limited children (`child.py`).
"""

import gc
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from typing import Any, TypeVar

from verdict.child import GONE, Child, Memory, begin, keep_freed, kill
from verdict.limits import MIB
from verdict.outcome import Unknown

Task = TypeVar("Task")
Result = TypeVar("Result")

GRACE = 2.0
"""Seconds beyond the time limit that a worker is given to stop by itself."""
ALONE = 0.1
"""Seconds in which one worker is left alone with all tasks: to begin one takes longer than most stages and claims."""


def run_all(
    tasks: Sequence[Task],
    run: Callable[[Task], Result],
    workers: int,
    timeout: float,
    memory_mib: int | None,
    done: Callable[[int], None],
    found: Callable[[int, Result | Unknown], None] | None = None,
    attempts: int = 1,
) -> list[Result | Unknown]:
    """The outcome of every task, in the order of the tasks, whatever the number of workers. A lost one is Unknown.

    workers: processes, each with the limits; 0 runs all tasks in this process, without limits. memory_mib: None where
    the tasks limit themselves. done: called with the number of finished tasks each time there is one more; found: with
    the place of a task and its outcome, before that. attempts: how often a task is begun at most if its workers die.
    """
    if workers == 0 or not tasks:
        return _run_here(tasks, run, done, found)
    outcomes: list[Result | Unknown | None] = [None] * len(tasks)
    pending = deque(range(len(tasks)))
    begun = [0] * len(tasks)
    busy: dict[Any, tuple[Child, int, float]] = {}
    finished = 0
    workers = min(workers, len(tasks))
    idle = [_start(tasks, run, memory_mib)]
    since = time.monotonic()
    try:
        while pending or busy:
            alone = since + ALONE - time.monotonic() if len(busy) + len(idle) < workers else 0.0
            if alone <= 0:
                fresh = min(workers - len(busy), len(pending)) - len(idle)
                idle.extend(_start(tasks, run, memory_mib) for _ in range(fresh))
            while pending and idle:
                child, index = idle.pop(), pending.popleft()
                begun[index] += 1
                with suppress(*GONE):  # a child that died since; its end of the connection says so
                    child.connection.send(index)
                busy[child.connection] = (child, index, time.monotonic() + timeout + GRACE)
            ready = wait(list(busy), timeout=min(_patience(busy), alone) if alone > 0 else _patience(busy))
            late = [c for c, (_, _, deadline) in busy.items() if c not in ready and time.monotonic() > deadline]
            for connection in [*ready, *late]:
                child, index, _ = busy[connection]
                outcome = _receive(connection) if connection in ready else None
                del busy[connection]
                if outcome is None:
                    kill(child)
                    idle.append(_start(tasks, run, memory_mib))
                    if connection in ready and begun[index] < attempts:
                        pending.append(index)
                        continue
                    outcome = Unknown(_lost(connection in ready, timeout, attempts))
                else:
                    idle.append(child)
                outcomes[index] = outcome
                finished += 1
                if found is not None:
                    found(index, outcome)
                done(finished)
    finally:
        for child in [*idle, *(child for child, _, _ in busy.values())]:
            kill(child)
    return [outcome or Unknown("never run") for outcome in outcomes]


def _lost(died: bool, timeout: float, attempts: int) -> str:
    """Why a task has no outcome."""
    if not died:
        return f"no answer within {timeout:g} s"
    return "its worker process died" if attempts == 1 else f"its worker process died, {attempts} times"


def _run_here(
    tasks: Sequence[Task],
    run: Callable[[Task], Result],
    done: Callable[[int], None],
    found: Callable[[int, Result | Unknown], None] | None,
) -> list[Result | Unknown]:
    outcomes: list[Result | Unknown] = []
    for index, task in enumerate(tasks):
        outcomes.append(_outcome(run, task))
        if found is not None:
            found(index, outcomes[-1])
        done(len(outcomes))
    return outcomes


def _outcome(run: Callable[[Task], Result], task: Task) -> Result | Unknown:
    try:
        return run(task)
    except RecursionError:
        return Unknown("it is nested more deeply than Python's calls may be")


def _start(tasks: Sequence[Task], run: Callable[[Task], Result], memory_mib: int | None) -> Child:
    memory = None if memory_mib is None else Memory(memory_mib * MIB)
    return begin(partial(_work, tasks=tasks, run=run, memory_mib=memory_mib), memory)


def _work(connection: Any, tasks: Sequence[Task], run: Callable[[Task], Result], memory_mib: int | None) -> None:
    keep_freed()
    gc.freeze()  # of what this process was begun with nothing is garbage: it need not be gone through
    while True:
        try:
            index = connection.recv()
        except GONE:
            return
        try:
            answer: Result | Unknown | BaseException = _outcome(run, tasks[index])
        except MemoryError:
            most = "there was" if memory_mib is None else f"{memory_mib} MiB"
            answer = Unknown(f"more than {most} of memory were needed")
        except SystemError as error:  # C code that fails for want of memory does not always say so
            answer = Unknown(f"Python itself failed: {error}")
        except Exception as error:
            answer = error
        try:
            connection.send(answer)
        except GONE:
            return


def _receive(connection: Any) -> Any:
    try:
        answer = connection.recv()
    except GONE:
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _patience(busy: dict[Any, tuple[Child, int, float]]) -> float:
    return max(0.0, min(deadline for _, _, deadline in busy.values()) - time.monotonic())
