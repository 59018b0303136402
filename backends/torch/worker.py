"""The processes that record: `python -m backends.torch.worker TENSORS CORES SECONDS FOLDER FILE FUNCTION WORLD ...`.

torch is imported once, by a process that never runs any of it; each rank of each program is recorded in a fresh copy
of that process, at most CORES at once. A copy writes its trace, or why there is none, to FOLDER/PROGRAM-RANK.json.
"""

import importlib
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


LATER = ("torch._dynamo", "torch._decomp", "torch.distributed.fsdp", "torch.distributed.tensor.parallel")
"""Parts of torch that it would otherwise import in every copy, when something is recorded."""


class Program(NamedTuple):
    """A function of a file, and how many ranks it has."""

    file: str
    function: str
    world: int


class Job(NamedTuple):
    """What is to be recorded, and within how many seconds each rank."""

    tensors: str
    cores: int
    seconds: float
    folder: Path
    programs: tuple[Program, ...]

    def out(self, program: int, rank: int) -> Path:
        """Where what was found on a rank is written."""
        return self.folder / f"{program}-{rank}.json"


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
    """Record all ranks of all programs, each in a copy of this process."""
    waiting = [(program, rank) for program, each in enumerate(job.programs) for rank in range(each.world)]
    running: dict[int, tuple[int, int, float]] = {}
    while waiting or running:
        while waiting and len(running) < job.cores:
            program, rank = waiting.pop(0)
            child = os.fork()
            if child == 0:
                _record_one(job, program, rank, record)
            running[child] = (program, rank, time.monotonic())
        time.sleep(WAIT)
        for child, (program, rank, begun) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            late = time.monotonic() - begun > job.seconds
            if not ended and late:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            if ended or late:
                del running[child]
                why = f"it is not recorded after {job.seconds:g} s" if late else f"its process ended with {status}"
                if not job.out(program, rank).is_file():
                    _write(job.out(program, rank), {"error": ["its process", why, ""]})


def _record_one(job: Job, program: int, rank: int, record: Callable[..., Any]) -> None:
    """Record one rank and end this process."""
    file, function, world = job.programs[program]
    found: dict[str, Any]
    try:
        found = {"trace": to_plain(record(partial(function_in, file, function), rank, world, job.tensors))}
    except UsageError as error:
        found = {"error": [error.where, error.problem, error.help]}
    except BaseException as error:
        traceback.print_exc()
        found = {"error": [_place(error, file), f"{type(error).__name__}: {error}", ""]}
    _write(job.out(program, rank), found)
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
    tensors, cores, seconds, folder, *rest = arguments
    programs = tuple(Program(rest[at], rest[at + 1], int(rest[at + 2])) for at in range(0, len(rest), 3))
    job = Job(tensors, int(cores), float(seconds), Path(folder), programs)
    try:
        for module in LATER:
            importlib.import_module(module)
        from backends.torch.record import record  # noqa: PLC0415  (torch may be missing, which is an answer, too)
    except ImportError as error:
        _write(job.out(0, 0), {"error": ["torch", str(error), "python -m pip install 'verdict[torch]'"]})
        return
    record_ranks(job, record)


if __name__ == "__main__":
    main(sys.argv[1:])
