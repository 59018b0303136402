"""Copies of this process that do one thing each, watched from here: how they end, and whether they still move."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from glob import glob
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
_SPENT, _ENDED = slice(11, 13), slice(13, 15)
"""Of what is told of a process behind its name: the time that it spent, and that of its children that have ended."""


def copy(work: Callable[[], None], mebibytes: int) -> Child:
    """Run `work` in a copy of this process, which ends with it, and with this one. mebibytes: of its own memory."""
    return begin(partial(_alone, work=work), Memory(mebibytes * MIB, OWN))


def _alone(_: Any, work: Callable[[], None]) -> None:
    work()


class Stillness:
    """Whether processes wait for each other: for `STILL` seconds none of them computes or is ready to, nor does what
    they have begun, as a compiler.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._looks = self._moving = self._spent = 0

    def lasts(self, copies: Mapping[int, Child]) -> bool:
        """Look at the copies once more."""
        self._looks += 1
        self._moving += any(_moves(each.process) for each in copies.values())
        if time.monotonic() - self._since < STILL:
            return False
        spent = sum(_spent_below(each.process) for each in copies.values())
        still = self._moving <= _MOVES * self._looks and spent == self._spent
        self._since, self._looks, self._moving, self._spent = time.monotonic(), 0, 0, spent
        return still


def _moves(process: int) -> bool:
    """Whether a process runs, is ready to, or waits for a disk."""
    told = _told(process)
    return not told or told[0] not in "St"


def _spent_below(process: int) -> int:
    """Ticks of the clock that the children of a process have spent, and theirs."""
    below = [int(child) for file in _read(f"/proc/{process}/task/*/children") for child in file.split()]
    lived = sum(sum(map(int, _told(child)[_SPENT])) + _spent_below(child) for child in below)
    return lived + sum(map(int, _told(process)[_ENDED]))


def _told(process: int) -> list[str]:
    """What the system tells of a process, from its state on; empty where it is gone."""
    return "".join(_read(f"/proc/{process}/stat")).rpartition(")")[2].split()


def _read(pattern: str) -> list[str]:
    """The files of the system that are there and can be read."""
    found = []
    for name in glob(pattern):
        with suppress(OSError):
            found.append(Path(name).read_text())
    return found
