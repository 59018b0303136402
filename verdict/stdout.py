"""Standard output that cannot be written is a failure with a sentence, like any other file; standard error is let go.

A closed pipe (`| head`, `2>&1 | head`) or a full disk would else end in a traceback, or in the exit status 1, which
means REFUTED.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from verdict.errors import UsageError


class _Watched:
    """A text stream whose failing writes are told, and what is still in its buffer let go."""

    def __init__(self, stream: Any, failed: Callable[[OSError], None]) -> None:
        self._stream, self._failed = stream, failed

    def write(self, text: str) -> int:
        """Write, or tell of it."""
        try:
            return int(self._stream.write(text))
        except OSError as error:
            self._tell(error)
            return len(text)

    def flush(self) -> None:
        """Flush, or tell of it."""
        try:
            self._stream.flush()
        except OSError as error:
            self._tell(error)

    def _tell(self, error: OSError) -> None:
        """What is still in the buffer goes nowhere, so that the end of the process cannot fail, too."""
        _let_go(self._stream)
        self._failed(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _fail(error: OSError) -> None:
    reason = os.strerror(error.errno).lower() if error.errno else str(error)
    raise UsageError("standard output", f"the report cannot be written: {reason}") from None


def _let_go(stream: Any) -> None:
    """What a stream is given, and still holds, goes nowhere from here on."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def to_stderr() -> Iterator[None]:
    """What goes to standard error changes no exit status where it cannot be written."""
    if sys.stderr is None:
        yield
        return
    lossy: Any = _Watched(sys.stderr, lambda error: None)
    with redirect_stderr(lossy):
        yield
        lossy.flush()


@contextmanager
def to_stdout() -> Iterator[None]:
    """Guard standard output, and flush it at the end. Raises UsageError where it cannot be written."""
    if sys.stdout is None:
        yield
        return
    guarded: Any = _Watched(sys.stdout, _fail)
    with redirect_stdout(guarded):
        yield
        guarded.flush()
