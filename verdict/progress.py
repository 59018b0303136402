"""How far work is: one line of a terminal, with counts, the time so far and what is left at this rate.

Whoever counts draws the line, no thread of its own: a process with threads cannot be copied, and whatever it begins
would have to be a fresh Python (`child.py`).
"""

import sys
import time
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

REDRAWN = 0.1
"""Seconds between two drawings of one count."""


class Bar:
    """The line, while it is entered: nothing where standard error is no terminal, and nothing of it stays."""

    def __init__(self, shown: bool = True) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
            auto_refresh=False,
            disable=not (shown and sys.stderr is not None and sys.stderr.isatty()),
        )
        self._task = self._progress.add_task("", total=None, counts="", left="")
        self._counted: tuple[str, int, int] | None = None
        self._drawn = 0.0

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        """The line is gone."""
        self._progress.stop()

    def begin(self, what: str) -> None:
        """Something else is done, of which nothing is counted yet."""
        self._counted = None
        self._restart(what, None)
        self._progress.refresh()

    def advance(self, what: str, done: int, total: int, counted: str) -> None:
        """So many of what is counted are done. A count that begins anew, or is of something else, has its own rate."""
        before, self._counted = self._counted, (f"{what} {counted}", total, done)
        if before is None or before[:2] != self._counted[:2] or done < before[2]:
            self._restart(what, total)
        now = time.monotonic()
        if now - self._drawn > REDRAWN:
            self._drawn = now
            self._progress.update(self._task, completed=done, counts=f"{done:,} of {total:,} {counted}")
            self._progress.refresh()

    def _restart(self, what: str, total: int | None) -> None:
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total, counts="", left="left:" if total else "")
