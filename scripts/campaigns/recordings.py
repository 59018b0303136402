"""Programs recorded in copies of this process, which has torch; `verdict torch --no-confirm` does it in fresh ones."""

import importlib
import json
import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from verdict.backends.torch.confirmation import NOT_RUN, Confirmation
from verdict.backends.torch.job import Job, Program
from verdict.backends.torch.launch import Recorded
from verdict.backends.torch.processes import copy
from verdict.backends.torch.record import record
from verdict.backends.torch.trace import from_plain
from verdict.backends.torch.worker import LATER, work
from verdict.errors import UsageError

SECONDS, MEBIBYTES = 60.0, 8192
"""Limits of the recording of one rank."""


def warm() -> None:
    """Import what torch imports late, before there are copies of this process."""
    for module in LATER:
        importlib.import_module(module)
    weight = torch.nn.Parameter(torch.zeros(2))
    weight.grad = torch.ones(2)
    for optimizer in (torch.optim.SGD([weight], lr=0.1), torch.optim.AdamW([weight], lr=0.1)):
        optimizer.step()
    torch.nn.utils.clip_grad_norm_([weight], 1.0)


def recorded(programs: Sequence[Program], tensors: str) -> tuple[Recorded | Exception, ...]:
    """What is recorded of each program; UsageError where it cannot be, any other error where the recorder fails."""
    with tempfile.TemporaryDirectory(prefix="verdict-recordings-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        job = Job(tensors, 1, SECONDS, MEBIBYTES, confirm=0.0, watched=False, programs=tuple(programs))
        each = copy(partial(work, folder, job, record, _none), MEBIBYTES)
        os.waitpid(each.process, 0)
        return tuple(_read(folder, at, program) for at, program in enumerate(programs))


def _none(*more: Any) -> None:
    raise NotImplementedError("nothing is confirmed here: what runs compute is held against verdicts, not recordings")


def _read(folder: Path, at: int, program: Program) -> Recorded | Exception:
    files = [folder / f"{at}-{rank}.json" for rank in range(program.world)]
    found = [json.loads(file.read_text()) if file.is_file() else {"error": ["it", "ends", ""]} for file in files]
    for rank, each in enumerate(found):
        if "error" in each:
            place, problem, help = each["error"]
            where = f"{Path(program.file).name}:{program.function}, rank {rank}, {place}"
            return RuntimeError(f"{where}: {problem}") if each.get("own") else UsageError(where, problem, help)
    return Recorded(tuple(from_plain(each["trace"]) for each in found), Confirmation(NOT_RUN, "the campaign runs it"))
