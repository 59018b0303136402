"""The processes that record: `python -m backends.torch.worker FILE FUNCTION WORLD TENSORS CORES SECONDS FOLDER`.

torch is imported once, by a process that never runs any of it; each rank is recorded in a fresh copy of that process,
at most CORES at once. A copy writes its trace, or why there is none, to FOLDER/RANK.json.
"""

import importlib.util
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from backends.torch.trace import to_plain
from verdict.errors import UsageError

WAIT = 0.01
"""Seconds between two looks at the running copies."""


class Job(NamedTuple):
    """What is to be recorded, and within how many seconds each rank."""

    file: str
    function: str
    world: int
    tensors: str
    cores: int
    seconds: float
    folder: Path


def function_in(file: str, name: str) -> Callable[..., Any]:
    """The function `name` of the Python file, whose folder is on the path as when it is run."""
    path = Path(file).resolve()
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise UsageError(file, "it is no Python file", "give FILE.py:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    found = getattr(module, name, None)
    if not callable(found):
        names = sorted(key for key in vars(module) if key.startswith("build"))
        raise UsageError(file, f"it has no function {name}", f"it has {', '.join(names) or 'no build function'}")
    return found  # type: ignore[no-any-return]


def record_ranks(job: Job, record: Callable[..., Any]) -> None:
    """Record all ranks, each in a copy of this process; stop at the first that fails."""
    waiting = list(range(job.world))
    running: dict[int, tuple[int, float]] = {}
    while waiting or running:
        while waiting and len(running) < job.cores:
            rank = waiting.pop(0)
            child = os.fork()
            if child == 0:
                _record_one(job, rank, record)
            running[child] = (rank, time.monotonic())
        time.sleep(WAIT)
        for child, (rank, begun) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            late = time.monotonic() - begun > job.seconds
            if not ended and late:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            if ended or late:
                del running[child]
                why = f"it is not recorded after {job.seconds:g} s" if late else f"its process ended with {status}"
                _require_file(job, rank, why)


def _require_file(job: Job, rank: int, why: str) -> None:
    out = job.folder / f"{rank}.json"
    if not out.is_file():
        _write(out, {"error": [f"rank {rank}", why, ""]})


def _record_one(job: Job, rank: int, record: Callable[..., Any]) -> None:
    """Record one rank and end this process."""
    found: dict[str, Any]
    try:
        load = partial(function_in, job.file, job.function)
        found = {"trace": to_plain(record(load, rank, job.world, job.tensors))}
    except UsageError as error:
        found = {"error": [error.where, error.problem, error.help]}
    except BaseException as error:
        traceback.print_exc()
        found = {"error": [_place(error, job.file), f"{type(error).__name__}: {error}", ""]}
    _write(job.folder / f"{rank}.json", found)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _write(out: Path, found: dict[str, Any]) -> None:
    """Write a file that is there only when it is complete."""
    part = out.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.rename(out)


def _place(error: BaseException, file: str) -> str:
    """The innermost line of the user's file in which it happened."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(file).name]
    return f"{Path(file).name}:{own[-1].lineno} {own[-1].name}" if own else file


def main(arguments: list[str]) -> None:
    """Record what the command line says."""
    file, function, world, tensors, cores, seconds, folder = arguments
    job = Job(file, function, int(world), tensors, int(cores), float(seconds), Path(folder))
    try:
        from backends.torch.record import record  # noqa: PLC0415  (torch may be missing, which is an answer, too)
    except ImportError as error:
        _write(job.folder / "0.json", {"error": ["torch", str(error), "python -m pip install 'verdict[torch]'"]})
        return
    record_ranks(job, record)


if __name__ == "__main__":
    main(sys.argv[1:])
