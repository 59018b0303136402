"""What copies of a process do for some of a job's programs, in turn: record their ranks, then hold them against runs.

A copy writes its trace, or why there is none, to FOLDER/PROGRAM-RANK.json, and what the runs of a program say of its
recording to FOLDER/PROGRAM.json. Where tensors without data do not serve, all is recorded again on real ones, into
FOLDER/real: who waits for a recording finds there what comes of it.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import verdict
from verdict.backends.torch import environment, seen
from verdict.backends.torch.confirmation import AGREES, read_back
from verdict.backends.torch.files import module_in
from verdict.backends.torch.job import AUTO, LIVE, Job, otherwise_in, seen_of
from verdict.backends.torch.tasks import read, side_by_side, write
from verdict.backends.torch.together import Wanted, numbers_of, record_together
from verdict.backends.torch.trace import from_plain, to_plain
from verdict.errors import UsageError, VerdictError

OWN = Path(verdict.__file__).resolve().parent / "backends"
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


class Task(NamedTuple):
    """Those of a job's programs that are recorded by copies of one process. last: whether there is no other way to
    record them where one of them cannot be recorded so.
    """

    folder: Path
    job: Job
    programs: tuple[int, ...]
    last: bool = True

    def names(self, program: int) -> list[str]:
        """What the files of a program's ranks are called."""
        return [f"{program}-{rank}" for rank in self.job.ranks_of(self.job.programs[program].world)]

    def every(self) -> list[str]:
        """What the files of all ranks are called."""
        return [name for program in self.programs for name in self.names(program)]

    def failed(self) -> bool:
        """Whether a rank could not be recorded."""
        files = [self.folder / f"{name}.json" for name in self.every()]
        return any("error" in read(file) for file in files if file.is_file())


def ways(folder: Path, job: Job) -> list[Task]:
    """How all of a job's programs are recorded: in turn, until they can be."""
    programs = tuple(range(len(job.programs)))
    if job.tensors != AUTO:
        return [Task(folder, job, programs)]
    fake, real = (job._replace(tensors=tensors) for tensors in ("fake", "real"))
    return [Task(folder, fake, programs, last=False), Task(otherwise_in(folder), real, programs)]


def record_first(tasks: Sequence[Task], record: Callable[..., Any], drawn: bool) -> None:
    """Record all ranks as the first task says, or as the next one does where that cannot be. drawn: whether numbers
    that nobody seeded were drawn before.
    """
    for task in tasks:
        task.folder.mkdir(exist_ok=True)
        _record_first(task, record, drawn)
        if not task.failed():
            return


def finish(tasks: Sequence[Task], record: Callable[..., Any], confirm: Callable[..., Any], _: bool) -> None:
    """Bring to its end what `record_first` recorded."""
    task = next(each for each in reversed(tasks) if each.folder.is_dir())
    if task.last or not task.failed():
        _finish(task, record, confirm)


def _record_first(task: Task, record: Callable[..., Any], drawn: bool) -> None:
    """Record all ranks. What drew numbers that nobody seeded is recorded again, with other ones: what depends on them
    is not known, and that nothing does is an assumption. drawn: whether such numbers were drawn before. Where there is
    another way, it ends with the first rank that cannot be recorded.
    """
    folder = task.folder

    def told(name: str) -> bool:
        found = read(folder / f"{name}.0")
        if not (found.pop("drawn", False) or (drawn and "trace" in found)):
            write(folder / f"{name}.json", found)
        return "error" in found and not task.last

    _record(task, task.every(), record, 0, told)


def _finish(task: Task, record: Callable[..., Any], confirm: Callable[..., Any]) -> None:
    """Record again what must be, and hold each program against its runs. Where numbers were drawn as packages were
    imported, and only there, runs with others that agree spare the second recordings of ranks that are like another
    one. Not of all ranks: what no run comes to, a limit that nothing reaches, stands in recordings alone.
    """
    folder, job, programs, _ = task
    before = [program for program in programs if job.confirm and _is_drawn_before(task, program)]
    runs = {f"{each}.runs": partial(_confirm_one, folder, job, each, confirm, ".0") for each in before}
    _side_by_side(task, runs)
    alike = dict[str, list[str]]()
    for program in before:
        found = read(folder / f"{program}.runs")
        if "confirmation" in found and read_back(found["confirmation"]).how == AGREES:
            write(folder / f"{program}.json", found)
            alike |= {names[0]: names for names in _of_one_form(task, program)}

    def told(name: str) -> bool:
        first, second = (read(folder / f"{name}.{salt}") for salt in (0, 1))
        apart = {**first.get("trace", {}), "seconds": 0} != {**second.get("trace", {}), "seconds": 0}
        for each in alike.get(name, [name]):
            held = _held_against(read(folder / f"{each}.0"), apart, RUN_OTHERWISE if name in alike else UNDECIDED)
            write(folder / f"{each}.json", held)
        return False

    spared = {each for names in alike.values() for each in names[1:]}
    every = [name for name in task.every() if name not in spared and not (folder / f"{name}.json").is_file()]
    _record(task, every, record, 1, told)
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
    folder, job, *_ = task
    side_by_side(folder, runs, 2, 2 * job.confirm + job.seconds, job.mebibytes)


def _record(
    task: Task, names: Sequence[str], record: Callable[..., Any], salt: int, told: Callable[[str], bool]
) -> None:
    """Record ranks into files of their names and the salt. told: of each, and says whether that is enough."""
    folder, job, programs, _ = task
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


def _confirm_one(folder: Path, job: Job, program: int, confirm: Callable[..., Any], written: str) -> dict[str, Any]:
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
