"""Copies of this process that do one thing each, watched from here: how they end, and whether they still move."""

import ctypes
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WAIT = 0.01
"""Seconds between two looks at the running copies."""
STILL = 8.0
"""Seconds without a movement of any copy after which they are taken to wait for each other."""
_PARENT_DEATH_SIGNAL = 1
_MOVES = 0.05
"""Of these seconds, the part in which a process that waits for others is found running at most."""


@dataclass
class Copy:
    """A running copy: its process, when it began, and how long it has been found waiting."""

    process: int
    begun: float = field(default_factory=time.monotonic)


def copy(work: Callable[[], None], mebibytes: int) -> Copy:
    """Run `work` in a copy of this process, which ends with it, and with this one. mebibytes: of its own memory."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return Copy(child)
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        told_of_parent(signal.SIGKILL)
        _limit(mebibytes * 2**20)
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def told_of_parent(sign: int) -> None:
    """This process gets the signal when the one that began it ends, however that ends (where the system can do so)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, sign)


def ended(each: Copy) -> int | None:
    """The status with which a copy ended; None while it runs."""
    process, status = os.waitpid(each.process, os.WNOHANG)
    return status if process else None


def kill(each: Copy) -> None:
    """End a copy that runs."""
    os.kill(each.process, signal.SIGKILL)
    os.waitpid(each.process, 0)


class Stillness:
    """Whether processes wait for each other: none of them computes or is ready to, for `STILL` seconds."""

    def __init__(self) -> None:
        self._since = time.monotonic()
        self._looks = self._moving = 0

    def lasts(self, copies: Mapping[int, Copy]) -> bool:
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


def _limit(more: int) -> None:
    """This process may have so many bytes of memory more than it has, where it can be limited."""
    if sys.platform != "linux":
        return
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with open("/proc/self/statm") as statm:
        limit = int(statm.read().split()[5]) * resource.getpagesize() + more
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
