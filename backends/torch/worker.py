"""The processes that record: `python -m verdict.backends.torch.worker FOLDER`, which holds what to do as `job.json`.

torch is imported once, by a process that never runs any of it; each rank of each program is recorded in a fresh copy
of that process, at most `cores` at once. A copy writes its trace, or why there is none, to FOLDER/PROGRAM-RANK.json.
Then each program is run for real by further copies, and what that says of its recording is in FOLDER/PROGRAM.json.
"""

import importlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import verdict
from verdict.backends.torch import environment, seen
from verdict.backends.torch.files import module_in
from verdict.backends.torch.job import LIVE, Job, read_job, seen_of
from verdict.backends.torch.processes import WAIT, copy
from verdict.backends.torch.together import Wanted, numbers_of, record_together
from verdict.backends.torch.trace import from_plain, to_plain
from verdict.backends.torch.versions import INSTALL, untested
from verdict.child import Child, ended, kill, told_of_parent, wait
from verdict.errors import UsageError, VerdictError

OWN = Path(verdict.__file__).resolve().parent / "backends"
LATER = (
    "verdict.torch",
    "torch._dynamo",
    "torch._decomp",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
    "torch.utils.serialization",
)
"""What would otherwise be imported in every copy."""
UNSEEDED = "what it does depends on numbers that Python's or numpy's generator draws, and nobody seeds it"
UNDECIDED = (
    "unseeded-draws",
    "the program draws numbers that nobody seeds; recordings with other draws were the same, others were not looked at",
)


def function_in(file: str, name: str) -> Callable[..., Any]:
    """The function `name` of the Python file, whose folder is on the path as when it is run."""
    module = module_in(file)
    found = getattr(module, name, None)
    if not callable(found):
        names = sorted(key for key in vars(module) if key.startswith("build"))
        raise UsageError(file, f"it has no function {name}", f"it has {', '.join(names) or 'no build function'}")
    return found  # type: ignore[no-any-return]


def _load(folder: Path, job: Job, program: int) -> Callable[..., Any]:
    """The function of a program, loaded by this process, which is watched from now on if the job says so."""
    if job.watched:
        seen.watch(seen_of(folder, program))
    return function_in(*job.programs[program][:2])


def work(folder: Path, job: Job, record: Callable[..., Any], confirm: Callable[..., Any]) -> None:
    """Record all ranks of all programs, then hold each program against its runs."""
    if job.tensors == LIVE:
        for program in range(len(job.programs)):
            _record_live(folder, job, program, record)
    ranks = [(program, rank) for program, each in enumerate(job.programs) for rank in job.ranks_of(each.world)]
    ranks = [] if job.tensors == LIVE else ranks
    _side_by_side(
        {
            folder / f"{program}-{rank}.json": partial(_record_one, folder, job, program, rank, record)
            for program, rank in ranks
        },
        job.cores,
        job.seconds,
        job.mebibytes,
    )
    well = [
        program
        for program, each in enumerate(job.programs)
        if not any("error" in _read(folder / f"{program}-{rank}.json") for rank in job.ranks_of(each.world))
    ]
    if job.confirm:
        _side_by_side(
            {folder / f"{program}.json": partial(_confirm_one, folder, job, program, confirm) for program in well},
            2,
            2 * job.confirm + job.seconds,
            job.mebibytes,
        )


def _side_by_side(tasks: dict[Path, Callable[[], Any]], cores: int, seconds: float, mebibytes: int) -> None:
    """Write what each task returns, or why it returns nothing, to its file; each task in a copy of this process."""
    waiting, running = list(tasks.items()), dict[Path, Child]()
    while waiting or running:
        while waiting and len(running) < cores:
            out, task = waiting.pop(0)
            running[out] = copy(partial(_write_found, out, task), mebibytes)
        time.sleep(WAIT)
        for out, each in list(running.items()):
            status, late = ended(each), time.monotonic() - each.begun > seconds
            if status is None and not late:
                continue
            if status is None:
                kill(each)
            del running[out]
            why = f"its process ended with {status}" if status is not None else f"it does not end within {seconds:g} s"
            if not out.is_file():
                _write(out, {"error": ["its process", why, ""]})


def _write_found(out: Path, task: Callable[[], Any]) -> None:
    _write(out, task())


def _record_one(folder: Path, job: Job, program: int, rank: int, record: Callable[..., Any]) -> dict[str, Any]:
    """The recording of one rank as plain data, or why there is none.

    Where it drew numbers that nobody seeded it is recorded twice, with other ones: what depends on them is not known,
    and that nothing does is an assumption.
    """
    first = _recording(folder, job, program, rank, record, 0)
    if not first.pop("drawn", False):
        return first
    return _held_against(first, _recording(folder, job, program, rank, record, 1))


def _held_against(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """A recording, with what follows from another one, on other draws of generators that nobody seeded."""
    apart = {**first.get("trace", {}), "seconds": 0} != {**second.get("trace", {}), "seconds": 0}
    if apart and "trace" in first:
        first["trace"]["doubts"] = [*first["trace"]["doubts"], UNSEEDED]
    elif "trace" in first:
        first["trace"]["notes"] = [*first["trace"]["notes"], UNDECIDED]
    return first


def _recording(
    folder: Path, job: Job, program: int, rank: int, record: Callable[..., Any], salt: int
) -> dict[str, Any]:
    """What a copy of this process records."""
    out = folder / f"{program}-{rank}.{salt}"
    task = partial(_record_here, folder, job, program, rank, record, salt)
    each = copy(partial(_write_found, out, task), job.mebibytes)
    status = wait(each)
    return _read(out) if out.is_file() else {"error": ["its process", f"its process ended with {status}", ""]}


def _record_live(folder: Path, job: Job, program: int, record: Callable[..., Any]) -> None:
    """Record all ranks of a program together. All but the first program take the numbers of the first."""

    def one(salt: int, rank: int, together: dict[str, Any]) -> dict[str, Any]:
        return _record_here(folder, job, program, rank, record, salt, together)

    wanted = Wanted(program, job.programs[program].world, job.seconds, job.mebibytes)
    like = 0 if program else None
    found = record_together(folder, wanted, like, partial(one, 0))
    if any(each.get("drawn") for each in found):
        again = record_together(folder, wanted, like, partial(one, 1))
        found = [_held_against(first, second) for first, second in zip(found, again, strict=True)]
    for rank, each in enumerate(found):
        _write(folder / f"{program}-{rank}.json", each)


def _record_here(
    folder: Path, job: Job, program: int, rank: int, record: Callable[..., Any], salt: int, together: Any = None
) -> dict[str, Any]:
    file, _, world = job.programs[program]
    try:
        generators = environment.enter(rank, world, salt)
        trace = to_plain(record(partial(_load, folder, job, program), rank, world, job.tensors, together))
        if job.watched and generators.drawn():
            seen.tell_never(seen_of(folder, program), "it draws numbers that nobody seeds")
        return {"trace": trace, "drawn": generators.drawn()}
    except UsageError as error:
        return {"error": [error.where, error.problem, error.help]}
    except MemoryError:
        return {"error": ["its process", f"it needs more than {job.mebibytes} MiB of memory", ""]}
    except BaseException as error:
        traceback.print_exc()
        apart = together is not None and "gloo" in str(error)
        said = "it waits for a rank that has ended" if apart else f"{type(error).__name__}: {error}"
        return {"error": [_place(error, file), said, ""], "own": _is_own(error) and not apart}


def _confirm_one(folder: Path, job: Job, program: int, confirm: Callable[..., Any]) -> dict[str, Any]:
    """What the runs of a program say of its recording."""
    world = job.programs[program].world
    traces = [from_plain(_read(folder / f"{program}-{rank}.json")["trace"]) for rank in range(world)]
    runs = folder / f"{program}-runs"
    try:
        load, given = partial(_load, folder, job, program), str(numbers_of(folder, 0)) if job.tensors == LIVE else ""
        return {"confirmation": confirm(load, traces, runs, job.confirm, job.mebibytes, given)}
    except VerdictError as error:
        return {"error": [error.where, error.problem, error.help]}
    except BaseException as error:
        traceback.print_exc()
        return {"error": ["its runs", f"{type(error).__name__}: {error}", ""], "own": True}


def _read(file: Path) -> Any:
    return json.loads(file.read_text())


def _write(out: Path, found: dict[str, Any]) -> None:
    """Write a file that is there only when it is complete."""
    part = out.with_suffix(".part")
    part.write_text(json.dumps(found))
    part.rename(out)


def _is_own(error: BaseException) -> bool:
    """Whether it happened in these rooms, and not in the user's program or in torch."""
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(OWN)


def _place(error: BaseException, file: str) -> str:
    """The innermost line of the user's file in which it happened."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(file).name]
    return f"{Path(file).name}:{own[-1].lineno} {own[-1].name}" if own else file


def _end(folder: Path, *_: object) -> None:
    """Leave neither the folder nor any process that began here."""
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _refuse(folder: Path, job: Job, why: list[str]) -> None:
    """Nothing is recorded: where, the problem, what to do."""
    for number, program in enumerate(job.programs):
        for rank in job.ranks_of(program.world):
            _write(folder / f"{number}-{rank}.json", {"error": why})


def main(arguments: list[str]) -> None:
    """Do what the folder says."""
    folder = Path(arguments[0])
    signal.signal(signal.SIGTERM, partial(_end, folder))
    told_of_parent(signal.SIGTERM)
    job = read_job(folder)
    try:
        why = untested(importlib.import_module("torch").__version__)
        if why:
            _refuse(folder, job, [sys.executable, why, INSTALL])
            return
        for module in LATER:
            importlib.import_module(module)
        from verdict.backends.torch.confirm import confirm_traces  # noqa: PLC0415
        from verdict.backends.torch.record import record  # noqa: PLC0415  (torch may be missing, which is an answer, too)
    except ImportError as error:
        _refuse(folder, job, ["torch", str(error), "python -m pip install 'verdict-parallel[torch]'"])
        return
    work(folder, job, record, confirm_traces)


if __name__ == "__main__":
    main(sys.argv[1:])
