"""The processes that record, as copies of one that has imported torch.

`python -m tests.warm FOLDER PROCESS DESCRIPTOR` is that process: on a socket that listens it is told of jobs, until the
process that runs the tests is gone. Each is begun as `verdict.child.session` begins it, in a session of its own, with
the same arguments, variables, folder and log; only that nothing is imported anew. Where a test sets variables that are
read by then, and where it runs `python -m verdict`, such a process begins by itself.
"""

import fcntl
import gc
import importlib
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tests.copies import in_large_pages, leave
from verdict.backends.torch.kept import ALWAYS
from verdict.backends.torch.launch import environment_of
from verdict.child import ended_after, session, told_of_parent

WORKER = "verdict.backends.torch.worker"
LOOK = 1.0
"""Seconds between two looks at whether the tests are still run."""
KILLED = -signal.SIGKILL
Session = Callable[[Sequence[str], Mapping[str, str], Path], Any]


class Begun:
    """A process that the server began: of a Popen what is asked of it. told: its number, then its status."""

    def __init__(self, told: socket.socket) -> None:
        self.told, self.lines = told, told.makefile("r")
        self.returncode: int | None = None
        self.pid = int(self.lines.readline())

    def poll(self) -> int | None:
        """The status with which it ended; None while it runs."""
        if self.returncode is None and select.select([self.told], [], [], 0)[0]:
            self.wait()
        return self.returncode

    def wait(self) -> int:
        """The status with which it ends."""
        if self.returncode is None:
            self.returncode = int(self.lines.readline() or KILLED)
        return self.returncode


def sessions(folder: Path, tests: int) -> Session:
    """What stands for `verdict.child.session`. folder: of the server's socket, alike for all that share it. tests: the
    process with which it ends.
    """
    begun_in = environment_of()

    @contextmanager
    def warm(command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Any]:
        if list(command[:-1]) != [sys.executable, "-m", WORKER] or _read(environment) != _read(begun_in):
            with session(command, environment, log) as process:
                yield process
            return
        with _connected(folder, tests, begun_in) as told:
            told.sendall(json.dumps([command[-1], dict(environment), str(log), os.getcwd()]).encode() + b"\n")
            process = Begun(told)
            with ended_after(process):
                yield process

    return warm


def shared_by_this_run() -> tuple[Path, int]:
    """The folder and the process of `sessions`: one server for all processes among which xdist divides the tests."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    tests = os.getppid() if run else os.getpid()
    return Path(tempfile.gettempdir()) / f"verdict-tests-{run or tests}", tests


def _read(environment: Mapping[str, str]) -> dict[str, str]:
    """Of the variables those that the interpreter and libraries read when they begin."""
    return {name: value for name, value in environment.items() if name.startswith(ALWAYS)}


def _connected(folder: Path, tests: int, environment: Mapping[str, str]) -> socket.socket:
    """A connection to the server, which is begun where there is none."""
    folder.mkdir(exist_ok=True)
    told = socket.socket(socket.AF_UNIX)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            told.connect(str(folder / "socket"))
        except OSError:
            _begin(folder, tests, environment)
            told.connect(str(folder / "socket"))
    return told


def _begin(folder: Path, tests: int, environment: Mapping[str, str]) -> None:
    """A server that has its socket already: who connects waits until it has imported torch."""
    (folder / "socket").unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
        listening.listen(64)
        listening.set_inheritable(True)
        command = [sys.executable, "-m", "tests.warm", str(folder), str(tests), str(listening.fileno())]
        null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        os.posix_spawn(sys.executable, command, dict(environment), file_actions=[null], setsid=True)


def serve(folder: Path, tests: int, listening: socket.socket) -> None:
    """Begin what is asked for, until the process of the tests is gone."""
    worker = importlib.import_module(WORKER)
    worker.prepared()
    gc.freeze()
    in_large_pages()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while Path(f"/proc/{tests}").is_dir():
        if not select.select([listening], [], [], LOOK)[0]:
            continue
        asked, _ = listening.accept()
        with asked:
            if os.fork() == 0:
                listening.close()
                leave(partial(_attend, asked, worker.main))
    shutil.rmtree(folder, ignore_errors=True)


def _attend(asked: socket.socket, main: Callable[[list[str]], None]) -> None:
    """One job in a copy of this process; tell its number when it has a session, and its status when it ends."""
    told_of_parent(signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with asked.makefile("r") as lines:
        job, environment, log, here = json.loads(lines.readline())
    child = os.fork()
    if child == 0:
        leave(partial(_work, asked, job, environment, log, here, main))
    _, status = os.waitpid(child, 0)
    with suppress(OSError):
        asked.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _work(
    asked: socket.socket, job: str, environment: dict[str, str], log: str, here: str, main: Callable[[list[str]], None]
) -> None:
    os.setsid()
    asked.sendall(f"{os.getpid()}\n".encode())
    asked.close()
    before = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(here)
    sys.path[: 1 + len(before)] = [here, *environment["PYTHONPATH"].split(os.pathsep)]
    sys.argv = [WORKER, job]
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(out, 1)
    os.dup2(out, 2)
    main([job])


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), socket.socket(fileno=int(sys.argv[3])))
