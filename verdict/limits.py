"""Limits of time and memory of the process that decides: what is found within them stands, the rest is UNKNOWN."""

import gc
import resource
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

MIB = 2**20
AGAIN = 1.0
"""Seconds after which it is said again that the time is over: said while an object is deleted, it is lost."""


class OutOfTime(BaseException):
    """The time is over. Like an interrupt it is no `Exception`, so that nobody takes it for a failure of his own."""


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: of the whole run. memory_mib: that the process may take beyond what it has when the limit is set. None
    is no limit. begun: when the run began, on the monotonic clock, in seconds.
    """

    seconds: float | None = None
    memory_mib: int | None = None
    begun: float = 0.0

    def in_words(self, error: BaseException) -> str:
        """Which limit it was that `error` tells of."""
        if isinstance(error, OutOfTime):
            return f"the limit of {self.seconds:g} s for the whole run was reached (--time-limit)"
        if self.memory_mib is None:
            return "there was no memory left"
        return f"the limit of {self.memory_mib} MiB for the main process was reached (--memory-limit)"


def begin(seconds: float | None, memory_mib: int | None) -> Limits:
    """The limits of a run that begins now; of memory what the machine has free, where no other limit is given."""
    return Limits(seconds, memory_mib if memory_mib is not None else free_mib(), time.monotonic())


@contextmanager
def uncollected() -> Iterator[None]:
    """The garbage collector rests: what runs inside makes few cycles, and much that stays, which it would go through
    time and again.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def limited(limits: Limits) -> Iterator[None]:
    """What runs inside raises OutOfTime or MemoryError when it goes beyond the limits. The clock needs the main thread;
    processes that are forked inside have limits of their own.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    timed = limits.seconds is not None and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGALRM, _over) if timed else None
    try:
        if limits.memory_mib is not None:
            most = address_space() + limits.memory_mib * MIB
            resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
        if timed and limits.seconds is not None:
            left = limits.begun + limits.seconds - time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6), AGAIN)
        yield
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def address_space() -> int:
    """Bytes that this process has mapped, which is what the limit of memory counts."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def confine(more: int, counted: int = resource.RLIMIT_AS) -> None:
    """This process may have so many bytes of memory more than it has, where it can be limited (Linux). counted: what is
    limited, RLIMIT_AS or RLIMIT_DATA.
    """
    if sys.platform != "linux":
        return
    _, hard = resource.getrlimit(counted)
    with open("/proc/self/statm") as statm:
        pages = statm.read().split()
    limit = int(pages[5 if counted == resource.RLIMIT_DATA else 0]) * resource.getpagesize() + more
    limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(counted, (limit, limit))


def _over(number: int, frame: FrameType | None) -> NoReturn:
    raise OutOfTime


def free_mib() -> int | None:
    """The memory that the machine has free, in MiB; None where it does not say."""
    with open("/proc/meminfo") as told:
        lines = dict(line.split(":") for line in told)
    free = lines.get("MemAvailable")
    return int(free.split()[0]) // 1024 if free else None
