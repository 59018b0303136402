"""What the processes that record are told to do: a file in their folder, and where they put what they find."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Program(NamedTuple):
    """A function of a file, and how many ranks it has."""

    file: str
    function: str
    world: int


class Job(NamedTuple):
    """What is to be recorded. seconds, mebibytes: for each rank. confirm: seconds for the runs of a program, or 0.

    watched: whether what a program depends on is told, into FOLDER/PROGRAM.seen. ranks: those that are recorded; none
    are all.
    """

    tensors: str
    cores: int
    seconds: float
    mebibytes: int
    confirm: float
    watched: bool
    programs: tuple[Program, ...]
    ranks: tuple[int, ...] = ()

    def ranks_of(self, world: int) -> Sequence[int]:
        """The ranks of a program with so many that are recorded."""
        return self.ranks or range(world)


LIVE = "live"
"""The kind of tensors of a job whose ranks are recorded together."""


AUTO = "auto"
"""The kind of tensors of a job that is done on real ones where it cannot be done on tensors without data."""


def write_job(folder: Path, job: Job) -> None:
    """Put into `folder` what is to be done."""
    (folder / "job.json").write_text(json.dumps(job))


def read_job(folder: Path) -> Job:
    """What `write_job` put into `folder`."""
    job = Job(*json.loads((folder / "job.json").read_text()))
    return job._replace(programs=tuple(Program(*each) for each in job.programs), ranks=tuple(job.ranks))


def seen_of(folder: Path, program: int) -> Path:
    """Where the processes of a program tell what it depends on."""
    return folder / f"{program}.seen"


def otherwise_in(folder: Path) -> Path:
    """Where the processes put what they record on real tensors, as that cannot be without data; there from then on."""
    return folder / "real"
