"""Who runs tasks: processes of this machine here, a cluster in `cluster.py`."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from verdict.outcome import Unknown
from verdict.workers import run_all

ATTEMPTS = 2
"""How often a task is begun: what its worker dies of may be the machine's fault once."""
Task = TypeVar("Task")
Result = TypeVar("Result")


class Lost(RuntimeError):
    """A task without an outcome, through no fault of its own. Its text is the reason."""


class Executor(Protocol):
    """Runs tasks, which are values that can be sent, within their own limits."""

    def __call__(
        self,
        tasks: Sequence[Task],
        run: Callable[[Task], Result],
        told: Callable[[int, Result | Unknown], Any],
        seconds: float,
    ) -> None:
        """Tell the outcome of each task, by its place, once and as soon as there is one.

        What could not be finished is Unknown, with the reason. seconds: after which a task is given up where this
        machine runs it; its own limits end it before.
        """


def local(workers: int) -> Executor:
    """An executor with so many processes of this machine."""

    def execute(
        tasks: Sequence[Task], run: Callable[[Task], Result], told: Callable[[int, Result | Unknown], Any],
        seconds: float,
    ) -> None:  # fmt: skip
        run_all(tasks, run, workers, seconds, None, lambda _: None, told, ATTEMPTS)

    return execute
