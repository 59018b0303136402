"""What copies of a process do for some of a job's programs, in turn: record their ranks, then hold them against runs.

A copy writes its trace, or why there is none, to FOLDER/PROGRAM-RANK.json, and what the runs of a program say of its
recording to FOLDER/PROGRAM.json. Where tensors without data do not serve, all is recorded again on real ones, into
FOLDER/real: who waits for a recording finds there what comes of it.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from verdict.backends.torch.confirmation import AGREES, read_back
from verdict.backends.torch.job import AUTO, LIVE, Job, otherwise_in
from verdict.backends.torch.one import confirm_one, record_here
from verdict.backends.torch.processes import WAIT
from verdict.backends.torch.tasks import read, side_by_side, write
from verdict.backends.torch.together import Wanted, record_together
from verdict.backends.torch.trace import computed

AHEAD = 2
"""The salt of what is done ahead, where unseeded generators draw other numbers than in the recordings."""
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

    def recorded(self) -> Path:
        """A file that is there when the first recordings have ended."""
        return self.folder / f"{self.programs[0]}.recorded"

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
            break
    tasks[0].recorded().touch()


def finish(tasks: Sequence[Task], record: Callable[..., Any], confirm: Callable[..., Any], _: bool) -> None:
    """Bring to its end what `record_first` records, when that has ended.

    What ranks import as they run, each by itself, is imported before their runs and second recordings, in a process of
    its own. These stand where they agree with the first recordings, for which each rank imports by itself; what differs
    there is run, and recorded, as it is.
    """
    from verdict.backends.torch.preloaded import ahead  # noqa: PLC0415  (it needs torch)

    names = _imported(tasks)
    if names:
        beside = Path(tasks[0].job.programs[tasks[0].programs[0]].file).resolve().parent
        ahead([f"import {name}" for name in names], beside, AHEAD, partial(_run_ahead, tasks, record, confirm))
    task = _recorded(tasks)
    if task.last or not task.failed():
        _finish(task, record, confirm)


def _imported(tasks: Sequence[Task]) -> list[str]:
    """What the first rank of each program that was recorded has imported meanwhile, of packages that are imported here:
    a library's engine may be in one of them alone.
    """
    if not tasks[0].job.confirm or tasks[0].job.watched:
        return []
    programs, done = tasks[0].programs, False
    found = dict[int, list[str]]()
    while not done and len(found) < len(programs):
        time.sleep(WAIT)
        done = tasks[0].recorded().is_file()
        written = {each: _imported_by(tasks, each) for each in programs if each not in found}
        found |= {each: names for each, names in written.items() if names is not None}
    every = dict.fromkeys(name for names in found.values() for name in names)
    return [name for name in every if name.partition(".")[0] in sys.modules]


def _imported_by(tasks: Sequence[Task], program: int) -> list[str] | None:
    """What the first rank of a program that was recorded has imported; None where none is yet."""
    files = (task.folder / f"{name}.0" for task in tasks for name in task.names(program))
    written = (read(file) for file in files if file.is_file())
    return next((each["imported"] for each in written if "trace" in each), None)


def _run_ahead(tasks: Sequence[Task], record: Callable[..., Any], confirm: Callable[..., Any], _: bool) -> None:
    """Run the programs whose recordings are there, record again what must be, and run what is recorded alike twice."""
    task = _recorded(tasks)
    folder, job, programs, _ = task
    before = [each for each in programs if _is_drawn_before(task, each)]
    ready = before + [each for each in programs if _is_settled(task, each)]
    _side_by_side(task, {f"{each}.ahead": partial(confirm_one, folder, job, each, confirm, ".0") for each in ready})
    again = _again(task, _agreed(task, before, "ahead"))
    _record(task, again, record, AHEAD, lambda _: False)
    rest = {each: [name for name in task.names(each) if name in again] for each in programs if each not in ready}
    same = [each for each, names in rest.items() if names and all(_is_same(task, name, AHEAD) for name in names)]
    _side_by_side(task, {f"{each}.ahead": partial(confirm_one, folder, job, each, confirm, ".0") for each in same})


def _recorded(tasks: Sequence[Task]) -> Task:
    """Wait until `record_first` has ended: the last of the tasks that it did."""
    while not tasks[0].recorded().is_file():
        time.sleep(WAIT)
    return next(each for each in reversed(tasks) if each.folder.is_dir())


def _is_settled(task: Task, program: int) -> bool:
    """Whether all ranks of a program are recorded for good."""
    files = [task.folder / f"{name}.json" for name in task.names(program)]
    return all(file.is_file() and "trace" in read(file) for file in files)


def _record_first(task: Task, record: Callable[..., Any], drawn: bool) -> None:
    """Record all ranks. What drew numbers that nobody seeded is recorded again, with other ones: what depends on them
    is not known, and that nothing does is an assumption. drawn: whether such numbers were drawn before. Where there is
    another way, it ends with the first rank that cannot be recorded.
    """
    folder = task.folder

    def told(name: str) -> bool:
        found = read(folder / f"{name}.0")
        found.pop("imported", None)
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
    runs = {f"{each}.runs": partial(confirm_one, folder, job, each, confirm, ".0") for each in before}
    _side_by_side(task, runs)
    alike = _agreed(task, before, "runs")
    for name in alike:
        program = name.partition("-")[0]
        write(folder / f"{program}.json", read(folder / f"{program}.runs"))

    def told(name: str, salt: int = 1) -> bool:
        apart = not _is_same(task, name, salt)
        for each in alike.get(name, [name]):
            held = _held_against(read(folder / f"{each}.0"), apart, RUN_OTHERWISE if name in alike else UNDECIDED)
            write(folder / f"{each}.json", held)
        return False

    again = _again(task, alike)
    same = [name for name in again if (folder / f"{name}.{AHEAD}").is_file() and _is_same(task, name, AHEAD)]
    for name in same:
        told(name, AHEAD)
    _record(task, [name for name in again if name not in same], record, 1, told)
    well = [each for each in programs if not any("error" in read(folder / f"{name}.json") for name in task.names(each))]
    left = [each for each in well if job.confirm and not (folder / f"{each}.json").is_file()]
    _side_by_side(task, {f"{each}.json": partial(confirm_one, folder, job, each, confirm, ".json") for each in left})


def _agreed(task: Task, programs: Sequence[int], written: str) -> dict[str, list[str]]:
    """The first of each form of ranks -> the ranks, of those programs with which their runs agree, as files say."""
    found = {program: read(task.folder / f"{program}.{written}") for program in programs}
    agree = [
        each for each in programs
        if "confirmation" in found[each] and read_back(found[each]["confirmation"]).how == AGREES
    ]  # fmt: skip
    return {names[0]: names for program in agree for names in _of_one_form(task, program)}


def _again(task: Task, alike: Mapping[str, Sequence[str]]) -> list[str]:
    """The ranks that are to be recorded again: of those that are alike the first."""
    spared = {each for names in alike.values() for each in names[1:]}
    return [name for name in task.every() if name not in spared and not (task.folder / f"{name}.json").is_file()]


def _is_same(task: Task, name: str, salt: int) -> bool:
    """Whether a rank was recorded alike twice, with other draws that nobody seeded."""
    first, second = (read(task.folder / f"{name}.{each}").get("trace", {}) for each in (0, salt))
    return computed(first) == computed(second)


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
        tasks[f"{name}.{salt}"] = partial(record_here, folder, job, program, rank, record, salt)
    side_by_side(folder, tasks, job.cores, job.seconds, job.mebibytes, lambda file: told(file.rpartition(".")[0]))


def _held_against(first: dict[str, Any], apart: bool, note: tuple[str, str]) -> dict[str, Any]:
    """A recording, with what follows from one with other draws that nobody seeded: is it another, or an assumption."""
    first = {key: value for key, value in first.items() if key not in ("drawn", "imported")}
    if "trace" in first:
        kind, text = ("doubts", UNSEEDED) if apart else ("notes", note)
        first["trace"][kind] = [*first["trace"][kind], text]
    return first


def _record_live(folder: Path, job: Job, program: int, record: Callable[..., Any], salt: int) -> None:
    """Record all ranks of a program together. All but the first program take the numbers of the first."""

    def one(rank: int, together: dict[str, Any]) -> dict[str, Any]:
        return record_here(folder, job, program, rank, record, salt, together)

    wanted = Wanted(program, job.programs[program].world, job.seconds, job.mebibytes)
    for rank, each in enumerate(record_together(folder, wanted, 0 if program else None, one)):
        write(folder / f"{program}-{rank}.{salt}", each)
