"""Copies of this process that do one thing each, watched from here: how they end, and whether they still move."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from verdict.child import OWN, Child, Memory, begin
from verdict.limits import MIB

WAIT = 0.01
"""Seconds between two looks at the running copies."""
STILL = 8.0
"""Seconds without a movement of any copy after which they are taken to wait for each other."""
_MOVES = 0.05
"""Of these seconds, the part in which a process that waits for others is found running at most."""


def copy(work: Callable[[], None], mebibytes: int) -> Child:
    """Run `work` in a copy of this process, which ends with it, and with this one. mebibytes: of its own memory."""
    return begin(partial(_alone, work=work), Memory(mebibytes * MIB, OWN))


def _alone(_: Any, work: Callable[[], None]) -> None:
    work()


class Stillness:
    """Whether processes wait for each other: none of them computes or is ready to, for `STILL` seconds."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._looks = self._moving = 0

    def lasts(self, copies: Mapping[int, Child]) -> bool:
        """Look at the copies once more."""
        self._looks += 1
        self._moving += any(_moves(each.process) for each in copies.values())
        if time.monotonic() - self._since < STILL:
            return False
        still = self._moving <= _MOVES * self._looks
        self._since, self._looks, self._moving = time.monotonic(), 0, 0
        return still


def _moves(process: int) -> bool:
    """Whether a process runs, is ready to, or waits for a disk."""
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True
    return told.rpartition(")")[2].split()[0] not in "St"
