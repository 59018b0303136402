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
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from verdict.backends.torch.job import LIVE, Job, read_job
from verdict.backends.torch.leading import leading, own_files
from verdict.backends.torch.tasks import write
from verdict.backends.torch.turns import finish, record_first, ways
from verdict.backends.torch.unordered import compile_before
from verdict.backends.torch.versions import INSTALL, untested
from verdict.child import end_all, lasting, told_of_parent

LATER = (
    "verdict.torch",
    "torch._dynamo",
    "torch._decomp",
    "torch.distributed.fsdp",
    "torch.distributed.tensor.parallel",
    "torch.utils.serialization",
)
"""What would otherwise be imported in every copy."""


def work(folder: Path, job: Job, record: Callable[..., Any], confirm: Callable[..., Any]) -> None:
    """Record all ranks of all programs, then hold each program against its runs. Programs whose files begin with the
    same imports are recorded in copies of one process that has imported them.
    """
    alike = dict[tuple[str, tuple[str, ...]], list[int]]()
    for program, each in enumerate(job.programs):
        file = Path(each.file).resolve()
        for own in own_files(file):
            compile_before(own)
        begins = () if job.watched else leading(file)
        alike.setdefault((str(file.parent) if begins else "", begins), []).append(program)
    if job.tensors == LIVE and len(alike) > 1:
        alike = {("", ()): list(range(len(job.programs)))}
    from verdict.backends.torch.preloaded import in_turn  # noqa: PLC0415  (it needs torch)

    tried = ways(folder, job)
    for some in [tried] if len(alike) == 1 else [[each] for each in tried]:
        for (beside, statements), programs in alike.items():
            tasks = [each._replace(programs=tuple(programs)) for each in some]
            parts = partial(record_first, tasks, record), partial(finish, tasks, record, confirm)
            in_turn(statements, Path(beside), parts)
            if not some[0].last and some[0].failed():
                break
        else:
            return


def _end(folder: Path, *_: object) -> None:
    """Leave neither the folder nor any process that began here: a copy of this one, in a session of its own, ends all
    others first, as what they still write would stay.
    """
    group = os.getpgrp()
    if os.fork():
        signal.pause()
    try:
        os.setsid()
        end_all(group)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os._exit(0)


def _refuse(folder: Path, job: Job, why: list[str]) -> None:
    """Nothing is recorded: where, the problem, what to do."""
    for number, program in enumerate(job.programs):
        for rank in job.ranks_of(program.world):
            write(folder / f"{number}-{rank}.json", {"error": why})


def prepared() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """What records and what confirms, imported with all that copies of this process need, and what they look for in
    all modules found.
    """
    for module in LATER:
        importlib.import_module(module)
    from verdict.backends.torch import host, live, validated  # noqa: PLC0415  (torch may be missing, which is an
    from verdict.backends.torch.confirm import confirm_traces  # noqa: PLC0415  answer, too)
    from verdict.backends.torch.core import named  # noqa: PLC0415
    from verdict.backends.torch.importers import look  # noqa: PLC0415
    from verdict.backends.torch.record import record  # noqa: PLC0415

    named()
    look((*host.BY_NAME, *live.BY_NAME, *validated.BY_NAME))
    return record, confirm_traces


def main(arguments: list[str]) -> None:
    """Do what the folder says."""
    folder = Path(arguments[0])
    signal.signal(signal.SIGTERM, partial(_end, folder))
    told_of_parent(signal.SIGTERM)
    job = read_job(folder)
    try:
        with lasting():
            why = untested(importlib.import_module("torch").__version__)
            if why:
                _refuse(folder, job, [sys.executable, why, INSTALL])
                return
            record, confirm = prepared()
    except ImportError as error:
        _refuse(folder, job, ["torch", str(error), "python -m pip install 'verdict-parallel[torch]'"])
        return
    work(folder, job, record, confirm)


if __name__ == "__main__":
    main(sys.argv[1:])
