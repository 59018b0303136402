"""Stages to outcomes in a pool of processes, each task within limits of time and memory.

A worker that takes too long, dies or runs out of memory costs its own task an Unknown, nothing else. An interrupt
from the terminal reaches all processes; the parent alone heeds it, and ends the others.
"""

import gc
import resource
import signal
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any, TypeVar

import multiprocess

from verdict.limits import MIB, address_space
from verdict.outcome import Unknown

Task = TypeVar("Task")
Result = TypeVar("Result")

GRACE = 2.0
"""Seconds beyond the time limit that a worker is given to stop by itself."""


def run_all(
    tasks: Sequence[Task],
    run: Callable[[Task], Result],
    workers: int,
    timeout: float,
    memory_mib: int,
    done: Callable[[int], None],
) -> list[Result | Unknown]:
    """The outcome of every task, in the order of the tasks, whatever the number of workers. A lost one is Unknown.

    workers: processes, each with the limits; 0 runs all tasks in this process, without limits.
    done: called with the number of finished tasks each time there is one more.
    """
    if workers == 0 or not tasks:
        return _run_here(tasks, run, done)
    outcomes: list[Result | Unknown | None] = [None] * len(tasks)
    pending = deque(range(len(tasks)))
    busy: dict[Any, tuple[Any, int, float]] = {}
    finished = 0
    context = multiprocess.get_context("fork")
    idle = [_start(context, tasks, run, memory_mib) for _ in range(min(workers, len(tasks)))]
    try:
        while pending or busy:
            while pending and idle:
                process, connection = idle.pop()
                index = pending.popleft()
                connection.send(index)
                busy[connection] = (process, index, time.monotonic() + timeout + GRACE)
            ready = wait(list(busy), timeout=_patience(busy))
            late = [c for c, (_, _, deadline) in busy.items() if c not in ready and time.monotonic() > deadline]
            for connection in [*ready, *late]:
                process, index, _ = busy[connection]
                outcome = _receive(connection) if connection in ready else None
                del busy[connection]
                if outcome is None:
                    why = "its worker process died" if connection in ready else f"no answer within {timeout:g} s"
                    outcomes[index] = Unknown(why)
                    process.kill()
                    process.join()
                    idle.append(_start(context, tasks, run, memory_mib))
                else:
                    outcomes[index] = outcome
                    idle.append((process, connection))
                finished += 1
                done(finished)
    finally:
        for process in [p for p, _ in idle] + [p for p, _, _ in busy.values()]:
            process.kill()
            process.join()
    return [outcome or Unknown("never run") for outcome in outcomes]


def _run_here(
    tasks: Sequence[Task], run: Callable[[Task], Result], done: Callable[[int], None]
) -> list[Result | Unknown]:
    outcomes: list[Result | Unknown] = []
    for task in tasks:
        outcomes.append(run(task))
        done(len(outcomes))
    return outcomes


def _start(context: Any, tasks: Sequence[Task], run: Callable[[Task], Result], memory_mib: int) -> tuple[Any, Any]:
    here, there = context.Pipe()
    process = context.Process(target=_work, args=(there, here, tasks, run, memory_mib), daemon=True)
    process.start()
    there.close()
    return process, here


def _work(
    connection: Any, other_end: Any, tasks: Sequence[Task], run: Callable[[Task], Result], memory_mib: int
) -> None:
    gc.freeze()  # of what this process was begun with nothing is garbage: it need not be gone through
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit = address_space() + memory_mib * MIB
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    while True:
        try:
            index = connection.recv()
        except EOFError:
            return
        try:
            answer: Result | Unknown | BaseException = run(tasks[index])
        except MemoryError:
            answer = Unknown(f"more than {memory_mib} MiB of memory were needed")
        except Exception as error:
            answer = error
        connection.send(answer)


def _receive(connection: Any) -> Any:
    try:
        answer = connection.recv()
    except EOFError:
        return None
    if isinstance(answer, BaseException):
        raise answer
    return answer


def _patience(busy: dict[Any, tuple[Any, int, float]]) -> float:
    return max(0.0, min(deadline for _, _, deadline in busy.values()) - time.monotonic())
