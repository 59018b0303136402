"""Start the processes that record and run, watch them, and read what they found."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import verdict
from verdict.backends.torch.confirmation import NOT_ASKED, Confirmation, read_back
from verdict.backends.torch.evidence import Line, told_in
from verdict.backends.torch.job import AUTO, Job, Program, otherwise_in, seen_of, write_job
from verdict.backends.torch.trace import Trace, from_plain
from verdict.child import session
from verdict.errors import UsageError, VerdictError

ROOT = Path(verdict.__file__).resolve().parents[1]
WAIT = 0.05
"""Seconds between two looks at what was found."""
Recording = Callable[[str, int, int, str], None]
"""Told of what is done ("recording" or "running"), and of how many of how many ranks or programs."""


class Target(NamedTuple):
    """A function of a Python file."""

    file: str
    function: str

    def __str__(self) -> str:
        """As it is given."""
        return f"{self.file}:{self.function}"

    @staticmethod
    def of(text: str, otherwise: str, beside: str = "") -> "Target":
        """FILE.py:FUNCTION, or FILE.py for the function `otherwise`, or FUNCTION of the file `beside`."""
        if beside and text.isidentifier() and not Path(text).exists():
            return Target(beside, text)
        file, colon, function = text.rpartition(":")
        if not colon or "/" in function or function.endswith(".py"):
            file, function = text, otherwise
        if not Path(file).is_file():
            raise UsageError(file, "there is no such file", "give FILE.py or FILE.py:FUNCTION")
        return Target(file, function)


class Limits(NamedTuple):
    """Of the processes. seconds: for the recording of one rank. mebibytes: for each process.

    confirm: seconds for the runs of one program, 0 where it is not run.
    """

    seconds: float = 600.0
    mebibytes: int = 16384
    confirm: float = 60.0


class Recorded(NamedTuple):
    """The recordings of all ranks of a program, and what its runs say of them.

    seen: what it was seen to depend on, where it was watched. processes: that told so.
    """

    traces: tuple[Trace, ...]
    confirmation: Confirmation
    seen: tuple[Line, ...] = ()
    processes: int = 0


UNCONFIRMED = Limits(confirm=0.0)


def _silent(*_: object) -> None:
    return None


def record_all(
    programs: Sequence[tuple[Target, int]],
    tensors: str = "fake",
    cores: int = 1,
    limits: Limits = UNCONFIRMED,
    progress: Recording = _silent,
    ranks: Sequence[int] = (),
    meanwhile: Callable[[], object] = _silent,
) -> tuple[Recorded, ...]:
    """What is recorded of each (program, number of ranks), in fresh processes, `cores` at once. ranks: those of each
    that are recorded, which cannot be run then; none are all. meanwhile: done here while the processes begin.

    Raises UsageError for the first rank that cannot be recorded within the limits; the others are ended.
    """
    with _worker(programs, _certain(tensors), cores, limits, ranks=tuple(ranks)) as worker:
        meanwhile()
        return _all(programs, worker, limits, progress)


def record_either(
    programs: Sequence[tuple[Target, int]], cores: int, limits: Limits, progress: Recording
) -> tuple[tuple[Recorded, ...] | UsageError, UsageError | None]:
    """What `record_all` records on tensors without data. Or else, by the same processes, on real ones, or why nothing
    is; and why not without data.

    Raises UsageError where these processes do not try real ones.
    """
    with _worker(programs, AUTO, cores, limits) as worker:
        try:
            return _all(programs, worker, limits, progress), None
        except UsageError as error:
            otherwise = otherwise_in(worker.folder)
            while not otherwise.is_dir():
                if worker.process.poll() is not None:
                    raise
                time.sleep(WAIT)
            try:
                return _all(programs, worker._replace(folder=otherwise), limits, progress), error
            except UsageError as other:
                return other, error


def record_each(
    programs: Sequence[tuple[Target, int]],
    tensors: str = "fake",
    cores: int = 1,
    limits: Limits = UNCONFIRMED,
    progress: Recording = _silent,
    watched: bool = False,
    ranks: Sequence[int] = (),
) -> tuple[Recorded | VerdictError, ...]:
    """The same, with why a program cannot be recorded in its place. watched: whether what it depends on is told."""
    with _worker(programs, _certain(tensors), cores, limits, watched, tuple(ranks)) as worker:
        return tuple(_watch(programs, worker, limits, progress, early=False))


def _certain(tensors: str) -> str:
    """On what programs are recorded that are all recorded in one way: real tensors serve for each."""
    return "real" if tensors == AUTO else tensors


def environment_of() -> dict[str, str]:
    """The variables of the processes that record."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore", "PYTHONPATH": os.pathsep.join(paths)}


class _Worker(NamedTuple):
    process: "subprocess.Popen[bytes]"
    folder: Path
    job: Job
    log: Path


@contextmanager
def _worker(
    programs: Sequence[tuple[Target, int]], tensors: str, cores: int, limits: Limits, watched: bool = False,
    ranks: tuple[int, ...] = (),
) -> Iterator[_Worker]:  # fmt: skip
    """The process that records, in a folder; afterwards there is neither, nor any process that it began."""
    with TemporaryDirectory(prefix="verdict-capture-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        wanted = tuple(Program(*target, world) for target, world in programs)
        job = Job(tensors, cores, limits.seconds, limits.mebibytes, limits.confirm, watched, wanted, ranks)
        write_job(folder, job)
        command = [sys.executable, "-m", "verdict.backends.torch.worker", name]
        with session(command, environment_of(), folder / "log") as process:
            yield _Worker(process, folder, job, folder / "log")


def _all(
    programs: Sequence[tuple[Target, int]], worker: _Worker, limits: Limits, progress: Recording
) -> tuple[Recorded, ...]:
    found = tuple(_watch(programs, worker, limits, progress, early=True))
    return tuple(each for each in found if isinstance(each, Recorded))


def _watch(
    programs: Sequence[tuple[Target, int]], worker: _Worker, limits: Limits, progress: Recording, early: bool
) -> Iterator[Recorded | VerdictError]:
    """Of each program what was recorded, or why it was not. early: the first such reason is raised."""
    of = worker.job.ranks_of
    ranks = {f"{at}-{rank}": target for at, (target, world) in enumerate(programs) for rank in of(world)}
    traces = _collect(ranks, worker, early, lambda done: progress("recording", done, len(ranks), "ranks"))
    names = [[f"{at}-{rank}" for rank in of(world)] for at, (_, world) in enumerate(programs)]
    failed = [next((name for name in each if "error" in traces[name]), None) for each in names]
    wanted = {f"{at}": target for at, (target, _) in enumerate(programs) if limits.confirm and failed[at] is None}
    runs = _collect(wanted, worker, early, lambda done: progress("running", done, len(wanted), "programs"))
    for at, (target, _) in enumerate(programs):
        wrong = failed[at]
        if wrong is not None:
            yield _error(target, wrong, traces[wrong], worker)
        elif "error" in runs.get(f"{at}", {}):
            yield _error(target, f"{at}", runs[f"{at}"], worker)
        else:
            found = tuple(from_plain(traces[name]["trace"]) for name in names[at])
            yield Recorded(found, _confirmation(runs.get(f"{at}")), *told_in(seen_of(worker.folder, at)))


def _collect(wanted: dict[str, Target], worker: _Worker, early: bool, done: Callable[[int], None]) -> dict[str, Any]:
    """What stands in the files of these names. early: the first that holds an error is raised."""
    found: dict[str, Any] = {}
    while len(found) < len(wanted):
        over = worker.process.poll() is not None
        there = [name for name in wanted if name not in found and (worker.folder / f"{name}.json").is_file()]
        for name in there:
            found[name] = json.loads((worker.folder / f"{name}.json").read_text())
            if early and "error" in found[name]:
                raise _error(wanted[name], name, found[name], worker)
        done(len(found))
        if over and not there:
            first = next(name for name in wanted if name not in found)
            problem = f"the process that records ended with status {worker.process.returncode}: {_last_words(worker)}"
            raise UsageError(":".join(wanted[first]), problem, "")
        if len(found) < len(wanted):
            time.sleep(WAIT)
    return found


def _error(target: Target, name: str, found: dict[str, Any], worker: _Worker) -> VerdictError:
    """What the file of a rank or a program tells. Raises RuntimeError where it is no fault of the program."""
    place, problem, help = found["error"]
    if found.get("own"):
        raise RuntimeError(f"{':'.join(target)}, {place}: {problem}\n{(worker.folder / 'log').read_text()}")
    rank = f"rank {name.partition('-')[2]}, " if "-" in name else ""
    return UsageError(f"{':'.join(target)}, {rank}{place}", problem, help)


def _last_words(worker: _Worker) -> str:
    return (worker.log.read_text().strip().splitlines() or ["it said nothing"])[-1]


def _confirmation(found: dict[str, Any] | None) -> Confirmation:
    if found is None:
        return NOT_ASKED
    return read_back(found["confirmation"])
