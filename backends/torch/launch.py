"""Start the processes that record, watch them, and read what they found."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from backends.torch.trace import Trace, from_plain
from verdict.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
WAIT = 0.05
"""Seconds between two looks at what was recorded."""
Progress = Callable[[int, int], None]


class Target(NamedTuple):
    """A function of a Python file."""

    file: str
    function: str

    @staticmethod
    def of(text: str, otherwise: str) -> "Target":
        """FILE.py:FUNCTION, or FILE.py for the function `otherwise`."""
        file, colon, function = text.rpartition(":")
        if not colon or "/" in function or function.endswith(".py"):
            file, function = text, otherwise
        if not Path(file).is_file():
            raise UsageError(file, "there is no such file", "give FILE.py or FILE.py:FUNCTION")
        return Target(file, function)


def _silent(done: int, total: int) -> None:
    return None


def record_all(
    programs: Sequence[tuple[Target, int]],
    tensors: str = "fake",
    cores: int = 1,
    seconds: float = 600.0,
    progress: Progress = _silent,
) -> tuple[tuple[Trace, ...], ...]:
    """The traces of all ranks of each (program, number of ranks), recorded in fresh processes, `cores` at once.

    Raises UsageError for the first rank that cannot be recorded within `seconds`; the others are ended.
    """
    with TemporaryDirectory(prefix="verdict-capture-") as name:
        arguments = [tensors, str(cores), str(seconds), name]
        arguments += [word for target, world in programs for word in (*target, str(world))]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        command = [sys.executable, "-m", "backends.torch.worker", *arguments]
        with open(Path(name) / "log", "w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            return _watch(programs, process, Path(name), progress)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _watch(
    programs: Sequence[tuple[Target, int]], process: "subprocess.Popen[bytes]", folder: Path, progress: Progress
) -> tuple[tuple[Trace, ...], ...]:
    waiting = [(program, rank) for program, (_, world) in enumerate(programs) for rank in range(world)]
    traces: dict[tuple[int, int], Trace] = {}
    total = len(waiting)
    while waiting:
        ended = process.poll() is not None
        there = [key for key in waiting if (folder / f"{key[0]}-{key[1]}.json").is_file()]
        for program, rank in there:
            found = json.loads((folder / f"{program}-{rank}.json").read_text())
            traces[program, rank] = _found(programs[program][0], rank, found)
        waiting = [key for key in waiting if key not in traces]
        progress(len(traces), total)
        if ended and not there:
            said = (folder / "log").read_text().strip().splitlines() or ["it said nothing"]
            problem = f"the process that records ended with status {process.returncode}: {said[-1]}"
            raise UsageError(":".join(programs[waiting[0][0]][0]), problem, "")
        if waiting:
            time.sleep(WAIT)
    return tuple(tuple(traces[program, rank] for rank in range(world)) for program, (_, world) in enumerate(programs))


def _found(target: Target, rank: int, found: dict[str, Any]) -> Trace:
    if "error" in found:
        place, problem, help = found["error"]
        raise UsageError(f"{target.file}:{target.function}, rank {rank}, {place}", problem, help)
    return from_plain(found["trace"])
