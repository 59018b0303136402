"""Start the processes that record, watch them, and read what they found."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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
    target: Target,
    world: int,
    tensors: str = "fake",
    cores: int = 1,
    seconds: float = 600.0,
    progress: Progress = _silent,
) -> tuple[Trace, ...]:
    """The traces of all ranks, recorded in fresh processes, at most `cores` at once.

    Raises UsageError for the first rank that cannot be recorded within `seconds`; the others are ended.
    """
    with TemporaryDirectory(prefix="verdict-capture-") as name:
        folder = Path(name)
        arguments = [*target, str(world), tensors, str(cores), str(seconds), name]
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        command = [sys.executable, "-m", "backends.torch.worker", *arguments]
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            return _watch(target, world, process, folder, progress)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _watch(
    target: Target, world: int, process: "subprocess.Popen[bytes]", folder: Path, progress: Progress
) -> tuple[Trace, ...]:
    traces: dict[int, Trace] = {}
    while len(traces) < world:
        ended = process.poll() is not None
        before = len(traces)
        for rank in range(world):
            out = folder / f"{rank}.json"
            if rank not in traces and out.is_file():
                traces[rank] = _found(target, rank, json.loads(out.read_text()))
                progress(len(traces), world)
        if ended and len(traces) == before:
            said = (folder / "log").read_text().strip().splitlines() or ["it said nothing"]
            problem = f"the process that records ended with status {process.returncode}: {said[-1]}"
            raise UsageError(f"{target.file}:{target.function}", problem, "")
        if not ended:
            time.sleep(WAIT)
    return tuple(traces[rank] for rank in range(world))


def _found(target: Target, rank: int, found: dict[str, Any]) -> Trace:
    if "error" in found:
        place, problem, help = found["error"]
        raise UsageError(f"{target.file}:{target.function}, rank {rank}, {place}", problem, help)
    return from_plain(found["trace"])
