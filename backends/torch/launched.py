"""All ranks of a program, launched for real: a process for each, within limits, and how that ended."""

import faulthandler
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from verdict.backends.torch.meeting_place import STORE, kept
from verdict.backends.torch.processes import WAIT, Stillness, copy
from verdict.child import Child, ended, kill

GRACE = 1.0
"""Seconds for the other ranks to end by themselves when one has failed."""
_CANNOT = ("cuda", "nccl", "not compiled", "gloo", "not implemented for", "not supported", "does not support")
"""Words of messages by which torch says that this machine or gloo cannot do what the program asks for."""


class Ended(NamedTuple):
    """How a launch ended. how: "well", "cannot" (this machine cannot run it), "late", "hangs" or "fails"."""

    how: str
    why: str = ""


def launch(work: Callable[[int, Path], None], ranks: int, folder: Path, seconds: float, mebibytes: int) -> Ended:
    """Do `work`, of a rank and the folder, for all ranks in processes of their own; none is left when this returns.

    folder: a new one, in which the ranks may leave what they found.
    """
    folder.mkdir()
    with kept(folder / STORE, ranks, mebibytes) as there:
        if not there:
            return Ended("cannot", "its ranks find no address at which they could meet")
        return _launched(work, ranks, folder, seconds, mebibytes)


def _launched(work: Callable[[int, Path], None], ranks: int, folder: Path, seconds: float, mebibytes: int) -> Ended:
    copies = {rank: copy(partial(_run_one, work, rank, folder), mebibytes) for rank in range(ranks)}
    begun, still, failed_at = time.monotonic(), Stillness(), 0.0
    died: dict[int, int] = {}
    try:
        while copies:
            time.sleep(WAIT)
            for rank, each in list(copies.items()):
                status = ended(each)
                if status is not None:
                    del copies[rank]
                    died |= {rank: status} if status else {}
            now = time.monotonic()
            failed_at = failed_at or (now if died else 0.0)
            if failed_at and now - failed_at > GRACE:
                break
            if now - begun > seconds:
                return Ended("late", f"it does not end within {seconds:g} s")
            if not died and still.lasts(copies):
                return Ended("hangs", _where(copies, folder))
    finally:
        for each in copies.values():
            kill(each)
    return _failed(folder, died) if died else Ended("well")


_WHERE = signal.SIGUSR1
"""A process writes where it stands."""


def _run_one(work: Callable[[int, Path], None], rank: int, folder: Path) -> None:
    faulthandler.register(_WHERE, file=open(folder / f"{rank}.where", "w"), all_threads=False)  # noqa: SIM115
    try:
        work(rank, folder)
    except BaseException as error:
        said = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        cannot = isinstance(error, NotImplementedError | MemoryError) or any(word in said.lower() for word in _CANNOT)
        (folder / f"{rank}.error").write_text(json.dumps([time.monotonic(), cannot, said]))
        raise


def _failed(folder: Path, died: Mapping[int, int]) -> Ended:
    """What the first rank that failed said; the others may have failed because of it."""
    told = [(*json.loads(path.read_text()), int(path.stem)) for path in folder.glob("*.error")]
    if not told:
        rank, status = next(iter(died.items()))
        return Ended("fails", f"rank {rank} ended with status {status}")
    _, cannot, said, rank = min(told)
    return Ended("cannot" if cannot else "fails", f"rank {rank} ended with {said}")


def _where(copies: Mapping[int, Child], folder: Path) -> str:
    """Where the processes that wait for each other stand."""
    for each in copies.values():
        os.kill(each.process, _WHERE)
    time.sleep(0.3)
    places = [f"rank {rank} waits in {_frame(folder / f'{rank}.where')}" for rank in copies]
    return "; ".join(places)


def _frame(file: Path) -> str:
    """The innermost frame that is neither torch's nor Python's, and what it called."""
    lines = [line.strip() for line in file.read_text().splitlines() if line.strip().startswith("File")]
    foreign = ("site-packages", "dist-packages", "/lib/python", "<frozen", str(Path(__file__).parent))
    inner = ""
    for line in lines:
        name = line.partition('"')[2].partition('"')[0]
        number, _, function = line.partition("line ")[2].partition(" in ")
        if not any(word in name for word in foreign):
            return f"{Path(name).name}:{number} {function}{inner}"
        inner = f" ({function})"
    return "its start" if lines else "an unknown place"
