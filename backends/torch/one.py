"""What one copy of a process does: record a rank of a program, or run all of it and hold its recording against that."""

import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import verdict
from verdict.backends.torch import environment, seen
from verdict.backends.torch.confirmation import AGREES, NOT_RUN, read_back
from verdict.backends.torch.files import module_in
from verdict.backends.torch.importers import latest
from verdict.backends.torch.job import LIVE, Job, seen_of
from verdict.backends.torch.tasks import read
from verdict.backends.torch.together import numbers_of
from verdict.backends.torch.trace import from_plain, to_plain
from verdict.errors import UsageError, VerdictError

OWN = Path(verdict.__file__).resolve().parent / "backends"


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


def record_here(
    folder: Path, job: Job, program: int, rank: int, record: Callable[..., Any], salt: int, together: Any = None
) -> dict[str, Any]:
    """What one rank recorded, and what it imported, or why there is nothing. together: where all ranks are recorded
    together, how.
    """
    from verdict.backends.torch.narrow import narrowed  # noqa: PLC0415  (they need torch)
    from verdict.backends.torch.preloaded import imported  # noqa: PLC0415

    file, _, world = job.programs[program]
    last = latest()
    try:
        generators = environment.enter(rank, world, salt)
        trace = record(partial(_load, folder, job, program), rank, world, job.tensors, together)
        drawn = generators.drawn()
        if job.watched and drawn:
            seen.tell_never(seen_of(folder, program), "it draws numbers that nobody seeds")
        return {"trace": to_plain(narrowed(trace)), "drawn": drawn, "imported": imported(last)}
    except UsageError as error:
        return {"error": [error.where, error.problem, error.help]}
    except MemoryError:
        return {"error": ["its process", f"it needs more than {job.mebibytes} MiB of memory", ""]}
    except BaseException as error:
        traceback.print_exc()
        apart = together is not None and "gloo" in str(error)
        said = "it waits for a rank that has ended" if apart else f"{type(error).__name__}: {error}"
        return {"error": [_place(error, file), said, ""], "own": _is_own(error) and not apart}


def confirm_one(
    folder: Path, job: Job, program: int, confirm: Callable[..., Any], written: str
) -> dict[str, Any]:
    """What the runs of a program say of its recording, in files that end as written. Those ahead say nothing against
    it.
    """
    ahead = folder / f"{program}.ahead"
    found = read(ahead) if ahead.is_file() else {}
    if "confirmation" in found:
        said = read_back(found["confirmation"])
        if said.how in (AGREES, NOT_RUN) and not said.shown:
            return dict(found)
    world = job.programs[program].world
    traces = [from_plain(read(folder / f"{program}-{rank}{written}")["trace"]) for rank in range(world)]
    runs = folder / f"{program}-runs"
    try:
        load, given = partial(_load, folder, job, program), str(numbers_of(folder, 0)) if job.tensors == LIVE else ""
        both = given and program and job.programs[0].world == 1
        single = partial(_load, folder, job, 0) if both else None
        return {"confirmation": confirm(load, traces, runs, job.confirm, job.mebibytes, given, single)}
    except VerdictError as error:
        return {"error": [error.where, error.problem, error.help]}
    except BaseException as error:
        traceback.print_exc()
        return {"error": ["its runs", f"{type(error).__name__}: {error}", ""], "own": True}


def _is_own(error: BaseException) -> bool:
    """Whether it happened in these rooms, and not in the user's program or in torch."""
    frames = traceback.extract_tb(error.__traceback__)
    return Path(frames[-1].filename).is_relative_to(OWN)


def _place(error: BaseException, file: str) -> str:
    """The innermost line of the user's file in which it happened."""
    own = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(file).name]
    return f"{Path(file).name}:{own[-1].lineno} {own[-1].name}" if own else file
