"""What a copy of this process does while this one does something else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from verdict.child import GONE, begin, kill

Result = TypeVar("Result")


@contextmanager
def beside(work: Callable[[], Result], wanted: bool) -> Iterator[Callable[[], Result]]:
    """Begin the work in a copy of this process, where that is wanted and can be; what is given returns what it returns.

    Where there is no copy, or it comes to no end, the work is done here, when it is asked for. At the end of the block
    no copy is left, whether it was asked or not.
    """
    child = begin(partial(_tell, work), both_ways=False) if wanted and threading.active_count() == 1 else None

    def result() -> Result:
        try:
            return work() if child is None else child.connection.recv()
        except GONE:
            return work()

    try:
        yield result
    finally:
        if child is not None:
            kill(child)


def _tell(work: Callable[[], Any], connection: Any) -> None:
    """Send what the work returns; nothing where it raises, as it will again where it is done instead."""
    with suppress(Exception):
        connection.send(work())
