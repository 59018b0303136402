"""The processes that record: `python -m verdict.backends.torch.worker FOLDER`, which holds what to do as `job.json`.

torch is imported once, by a process that never runs any of it, and so are the packages with which the user's files
begin; each rank of each program is recorded in a fresh copy of that process, at most `cores` at once. A copy writes its
trace, or why there is none, to FOLDER/PROGRAM-RANK.json. Then each program is run for real by further copies, and what
that says of its recording is in FOLDER/PROGRAM.json.
"""

import importlib
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import verdict
from verdict.backends.torch import environment, seen
from verdict.backends.torch.confirmation import AGREES, read_back
from verdict.backends.torch.files import module_in
from verdict.backends.torch.job import LIVE, Job, read_job, seen_of
from verdict.backends.torch.leading import leading
from verdict.backends.torch.tasks import read, side_by_side, write
from verdict.backends.torch.together import Wanted, numbers_of, record_together
from verdict.backends.torch.trace import from_plain, to_plain
from verdict.backends.torch.unordered import compile_before
from verdict.backends.torch.versions import INSTALL, untested
from verdict.child import told_of_parent
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
RUN_OTHERWISE = (
    "unseeded-draws",
    "packages draw numbers that nobody seeds as they are imported; runs with other draws agree with the recording, and "
    "a second one of a rank of each form is the same, others were not looked at",
)
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
    """Record all ranks of all programs, then hold each program against its runs. Programs whose files begin with the
    same imports are recorded in copies of one process that has imported them.
    """
    alike = dict[tuple[str, tuple[str, ...]], list[int]]()
    for program, each in enumerate(job.programs):
        file = Path(each.file).resolve()
        compile_before(file)
        begins = () if job.watched else leading(file)
        alike.setdefault((str(file.parent) if begins else "", begins), []).append(program)
    if job.tensors == LIVE and len(alike) > 1:
        alike = {("", ()): list(range(len(job.programs)))}
    from verdict.backends.torch.preloaded import in_turn  # noqa: PLC0415  (it needs torch)

    for (beside, statements), programs in alike.items():
        task = Task(folder, job, tuple(programs))
        parts = partial(_record_first, task, record), lambda _, of=task: _finish(of, record, confirm)
        in_turn(statements, Path(beside), parts)


class Task(NamedTuple):
    """Those of a job's programs that are recorded by copies of one process."""

    folder: Path
    job: Job
    programs: tuple[int, ...]

    def names(self, program: int) -> list[str]:
        """What the files of a program's ranks are called."""
        return [f"{program}-{rank}" for rank in self.job.ranks_of(self.job.programs[program].world)]


def _record_first(task: Task, record: Callable[..., Any], drawn: bool) -> None:
    """Record all ranks. What drew numbers that nobody seeded is recorded again, with other ones: what depends on them
    is not known, and that nothing does is an assumption. drawn: whether such numbers were drawn before.
    """
    folder, programs = task.folder, task.programs

    def told(name: str) -> None:
        found = read(folder / f"{name}.0")
        if not (found.pop("drawn", False) or (drawn and "trace" in found)):
            write(folder / f"{name}.json", found)

    _record(task, [name for program in programs for name in task.names(program)], record, 0, told)


def _finish(task: Task, record: Callable[..., Any], confirm: Callable[..., Any]) -> None:
    """Record again what must be, and hold each program against its runs. Where numbers were drawn as packages were
    imported, and only there, runs with others that agree spare the second recordings of ranks that are like another
    one. Not of all ranks: what no run comes to, a limit that nothing reaches, stands in recordings alone.
    """
    folder, job, programs = task
    before = [program for program in programs if job.confirm and _is_drawn_before(task, program)]
    runs = {f"{each}.runs": partial(_confirm_one, folder, job, each, confirm, ".0") for each in before}
    _side_by_side(task, runs)
    alike = dict[str, list[str]]()
    for program in before:
        found = read(folder / f"{program}.runs")
        if "confirmation" in found and read_back(found["confirmation"]).how == AGREES:
            write(folder / f"{program}.json", found)
            alike |= {names[0]: names for names in _of_one_form(task, program)}

    def told(name: str) -> None:
        first, second = (read(folder / f"{name}.{salt}") for salt in (0, 1))
        apart = {**first.get("trace", {}), "seconds": 0} != {**second.get("trace", {}), "seconds": 0}
        for each in alike.get(name, [name]):
            held = _held_against(read(folder / f"{each}.0"), apart, RUN_OTHERWISE if name in alike else UNDECIDED)
            write(folder / f"{each}.json", held)

    spared = {each for names in alike.values() for each in names[1:]}
    every = [name for program in programs for name in task.names(program) if not (folder / f"{name}.json").is_file()]
    _record(task, [name for name in every if name not in spared], record, 1, told)
    well = [each for each in programs if not any("error" in read(folder / f"{name}.json") for name in task.names(each))]
    left = [each for each in well if job.confirm and not (folder / f"{each}.json").is_file()]
    _side_by_side(task, {f"{each}.json": partial(_confirm_one, folder, job, each, confirm, ".json") for each in left})


def _of_one_form(task: Task, program: int) -> list[list[str]]:
    """The ranks of a program, together where their steps are alike; each by itself where they are recorded together."""
    forms = dict[str, list[str]]()
    for name in task.names(program):
        steps = read(task.folder / f"{name}.0")["trace"]["steps"]
        form = name if task.job.tensors == LIVE else repr([(op, attrs) for op, _, _, attrs, *_ in steps])
        forms.setdefault(form, []).append(name)
    return list(forms.values())


def _is_drawn_before(task: Task, program: int) -> bool:
    """Whether a program is recorded, but for what was drawn before it began that nobody seeded."""
    found = [read(task.folder / f"{name}.0") for name in task.names(program)]
    known = any((task.folder / f"{name}.json").is_file() for name in task.names(program))
    return not known and all("trace" in each and not each["drawn"] for each in found)


def _side_by_side(task: Task, runs: Mapping[str, Callable[[], Any]]) -> None:
    """Run programs, two at once."""
    folder, job, _ = task
    side_by_side(folder, runs, 2, 2 * job.confirm + job.seconds, job.mebibytes)


def _record(
    task: Task, names: Sequence[str], record: Callable[..., Any], salt: int, told: Callable[[str], None]
) -> None:
    """Record ranks into files of their names and the salt."""
    folder, job, programs = task
    if job.tensors == LIVE:
        for program in programs:
            if set(names).intersection(task.names(program)):
                _record_live(folder, job, program, record, salt)
                for name in task.names(program):
                    told(name)
        return
    tasks = {}
    for name in names:
        program, rank = map(int, name.split("-"))
        tasks[f"{name}.{salt}"] = partial(_record_here, folder, job, program, rank, record, salt)
    side_by_side(folder, tasks, job.cores, job.seconds, job.mebibytes, lambda file: told(file.rpartition(".")[0]))


def _held_against(first: dict[str, Any], apart: bool, note: tuple[str, str]) -> dict[str, Any]:
    """A recording, with what follows from one with other draws that nobody seeded: is it another, or an assumption."""
    first.pop("drawn", False)
    if "trace" in first:
        kind, text = ("doubts", UNSEEDED) if apart else ("notes", note)
        first["trace"][kind] = [*first["trace"][kind], text]
    return first


def _record_live(folder: Path, job: Job, program: int, record: Callable[..., Any], salt: int) -> None:
    """Record all ranks of a program together. All but the first program take the numbers of the first."""

    def one(rank: int, together: dict[str, Any]) -> dict[str, Any]:
        return _record_here(folder, job, program, rank, record, salt, together)

    wanted = Wanted(program, job.programs[program].world, job.seconds, job.mebibytes)
    for rank, each in enumerate(record_together(folder, wanted, 0 if program else None, one)):
        write(folder / f"{program}-{rank}.{salt}", each)


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


def _confirm_one(
    folder: Path, job: Job, program: int, confirm: Callable[..., Any], written: str
) -> dict[str, Any]:
    """What the runs of a program say of its recording, in files that end as written."""
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


def _end(folder: Path, *_: object) -> None:
    """Leave neither the folder nor any process that began here."""
    shutil.rmtree(folder, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)


def _refuse(folder: Path, job: Job, why: list[str]) -> None:
    """Nothing is recorded: where, the problem, what to do."""
    for number, program in enumerate(job.programs):
        for rank in job.ranks_of(program.world):
            write(folder / f"{number}-{rank}.json", {"error": why})


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
