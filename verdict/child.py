"""The one way in which Verdict begins another process: a limited child that does one thing, and ends with its parent.

Where this process has one thread, the child is a copy of it, with all that it knows. A copy of a process with threads
may wait for ever for a lock that one of them held; there the child is a fresh Python, to which its work is sent.
"""

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from ctypes import CDLL
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import multiprocess
from multiprocess.connection import Connection
from multiprocess.util import spawnv_passfds

from verdict.limits import confine

SPACE, OWN = resource.RLIMIT_AS, resource.RLIMIT_DATA
"""What a limit of memory counts: all that is mapped, or what the process wrote for itself."""
GONE = (EOFError, ConnectionError)
"""What a connection raises whose other end is closed: the process there ended, with or without having read all."""
_PARENT_DEATH_SIGNAL = 1
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _KEPT = -1, -3, 32 << 20
"""Of mallopt: from how many bytes on what is free at the end is given back, and what is asked for is mapped alone."""
_ENDED, _LOOK = 5.0, 0.005
"""Seconds in which what is killed ends, if its disk answers, and between two looks at whether it has."""
_FRESH = "import sys; sys.path[:] = {path!r}; from verdict.child import main; main({work}, {end})"


class Memory(NamedTuple):
    """Bytes that a child may have beyond what it has when it begins, and what counts."""

    more: int
    counted: int = SPACE


@dataclass
class Child:
    """A child that runs. connection: to its work. begun: on the monotonic clock, in seconds."""

    process: int
    connection: Any
    begun: float = field(default_factory=time.monotonic)


def begin(work: Callable[[Any], None], memory: Memory | None = None, both_ways: bool = True) -> Child:
    """A child that does `work`, which is given its end of a connection, and ends with 0 if that raises nothing.

    An interrupt from the terminal is the parent's to heed; the child is told to end, and does so at once. both_ways:
    whether the parent sends anything, too. Work that goes to a fresh Python must be such that dill can send it.
    """
    here, there = multiprocess.Pipe(both_ways)
    _flush()
    child = _fresh(work, there, memory) if threading.active_count() > 1 else _copy(work, here, there, memory)
    there.close()
    return Child(child, here)


def ended(child: Child) -> int | None:
    """The status with which a child ended, as of `os.waitpid`; None while it runs."""
    process, status = os.waitpid(child.process, os.WNOHANG)
    return status if process else None


def wait(child: Child) -> int:
    """The status with which a child ends, as of `os.waitpid`."""
    return os.waitpid(child.process, 0)[1]


def kill(child: Child) -> None:
    """End a child that was not seen to end."""
    os.kill(child.process, signal.SIGKILL)
    os.waitpid(child.process, 0)
    child.connection.close()


def told_of_parent(sign: int) -> None:
    """This process gets the signal when the one that began it ends, however that ends (where the system can do so)."""
    if sys.platform == "linux":
        CDLL(None).prctl(_PARENT_DEATH_SIGNAL, sign)


def keep_freed() -> None:
    """What this process frees it keeps, to use it again (glibc). Each context of a solver takes some 17 MB: to give
    these back and to take them anew costs more than most questions.
    """
    with suppress(AttributeError):
        for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            CDLL(None).mallopt(threshold, _KEPT)


@contextmanager
def lasting() -> Iterator[None]:
    """What is imported meanwhile lasts: the garbage collector goes through none of it, neither now nor in copies of
    this process. What is set of the collector meanwhile stays.
    """
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        yield
    finally:
        gc.freeze()
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*before)


@contextmanager
def ended_after(process: Any) -> Iterator[None]:
    """Afterwards neither a process that leads a session runs, a Popen or what is like one, nor what it began."""
    try:
        yield
    finally:
        end_all(process.pid)
        process.wait()


def end_all(group: int) -> None:
    """End all processes of a group, and wait until none of them runs (where the system tells): what they were about to
    write is written then.
    """
    until = time.monotonic() + _ENDED
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
    while _runs(group) and time.monotonic() < until:
        time.sleep(_LOOK)


def _runs(group: int) -> bool:
    """Whether a process of the group runs; one that has ended and that nobody has asked for does not."""
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = file.read_text(errors="replace").rpartition(")")[2].split()[:3]
            if int(its_group) == group and state not in "ZX":
                return True
    return False


@contextmanager
def session(
    command: Sequence[str], environment: Mapping[str, str], log: Path
) -> "Iterator[subprocess.Popen[bytes]]":
    """A program in a session of its own, which says all to a file. Afterwards neither it runs, nor what it began.

    Raises OSError where it cannot be run.
    """
    with open(log, "wb") as out:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
        )
    with ended_after(process):
        yield process


def _copy(work: Callable[[Any], None], here: Any, there: Any, memory: Memory | None) -> int:
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # until the child has come to ignore it
    try:
        child = os.fork()
        if child == 0:
            told_of_parent(signal.SIGKILL)
            here.close()
            _do(work, there, memory)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    return child


def _fresh(work: Callable[[Any], None], there: Any, memory: Memory | None) -> int:
    """A fresh Python, as `python -c`: nothing of the user's main module is run again in it."""
    given, giving = multiprocess.Pipe(False)
    code = _FRESH.format(path=sys.path, work=given.fileno(), end=there.fileno())
    command = [os.fsencode(sys.executable), b"-c", code.encode()]
    child: int = spawnv_passfds(command[0], command, (given.fileno(), there.fileno()))
    given.close()
    with giving, suppress(BrokenPipeError):
        giving.send((work, memory))
    return child


def main(given: int, end: int) -> None:
    """What a fresh Python does: the work that comes on one descriptor, with a connection on the other."""
    with Connection(given, writable=False) as work_of:
        work, memory = work_of.recv()
    _do(work, Connection(end), memory)


def _do(work: Callable[[Any], None], there: Any, memory: Memory | None) -> None:
    """Do the work, and end without any cleaning up."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if memory is not None:
            confine(memory.more, memory.counted)
        work(there)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError, ValueError):
            _flush()
        os._exit(status)


def _flush() -> None:
    """Both streams, where they are there."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
