"""Standard output that cannot be written is a failure with a sentence, like any other file.

A closed pipe (`| head`) or a full disk would else end in a traceback, or in the exit status 1, which means REFUTED.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from verdict.errors import UsageError


class _Guarded:
    """A text stream whose failing writes are UsageErrors."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, or raise UsageError."""
        try:
            return int(self._stream.write(text))
        except OSError as error:
            raise self._failed(error) from None

    def flush(self) -> None:
        """Flush, or raise UsageError."""
        try:
            self._stream.flush()
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> UsageError:
        """The failure. What is still in the buffer goes nowhere, so that the end of the process cannot fail, too."""
        os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
        reason = os.strerror(error.errno).lower() if error.errno else str(error)
        return UsageError("standard output", f"the report cannot be written: {reason}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def to_stdout() -> Iterator[None]:
    """Guard standard output, and flush it at the end. Raises UsageError where it cannot be written."""
    if sys.stdout is None:
        yield
        return
    guarded: Any = _Guarded(sys.stdout)
    with redirect_stdout(guarded):
        yield
        guarded.flush()
