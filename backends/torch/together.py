"""All ranks of a program recorded together: each in a copy of this process, which talk by gloo."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from verdict.backends.torch.delivered import delivered
from verdict.backends.torch.launched import Ended, launch
from verdict.backends.torch.meeting_place import STORE
from verdict.backends.torch.trace import from_plain, to_plain

Record = Callable[[int, Any], dict[str, Any]]
"""Records one rank: of its number, and what its `Live` holds, by name."""


class Wanted(NamedTuple):
    """A program whose ranks are recorded together. number: in its job. seconds, mebibytes: of each process."""

    number: int
    ranks: int
    seconds: float
    mebibytes: int


def numbers_of(folder: Path, program: int) -> Path:
    """The file that holds the numbers of a single-device program's step."""
    return folder / f"{program}-numbers.pt"


def record_together(folder: Path, wanted: Wanted, like: int | None, record: Record) -> list[dict[str, Any]]:
    """What each rank recorded, or why there is nothing: the same of all where one rank fails.

    like: the program whose numbers it takes; None where they are its own.
    """
    within = folder / f"{wanted.number}-live"
    given = None if like is None else numbers_of(folder, like)
    work = partial(_one, record, given, numbers_of(folder, wanted.number), wanted.seconds)
    try:
        ended = launch(work, wanted.ranks, within, wanted.seconds, wanted.mebibytes)
        found = [_found(within / f"{rank}.json") for rank in range(wanted.ranks)]
        failed = [each for each in found if each is not None and "error" in each]
        if failed or any(each is None for each in found):
            first = min(failed, key=_when) if failed and ended.how != "hangs" else _unrun(ended)
            return [first] * wanted.ranks
        return _delivered([each for each in found if each is not None])
    finally:
        shutil.rmtree(within, ignore_errors=True)


def _delivered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the ranks recorded, with messages for what they read from files."""
    traces = delivered([from_plain(each["trace"]) for each in found])
    return [{**each, "trace": to_plain(trace)} for each, trace in zip(found, traces, strict=True)]


def _one(record: Record, given: Path | None, numbers: Path, seconds: float, rank: int, within: Path) -> None:
    live = {"store": within / STORE, "seconds": seconds, "given": given, "numbers": numbers}
    found = record(rank, live)
    part = within / f"{rank}.part"
    part.write_text(json.dumps(found))
    part.rename(within / f"{rank}.json")
    if "error" in found:
        raise RuntimeError(found["error"][1])


def _found(file: Path) -> dict[str, Any] | None:
    return {**json.loads(file.read_text()), "at": file.stat().st_mtime_ns} if file.is_file() else None


def _when(found: dict[str, Any]) -> int:
    return int(found["at"])


def _unrun(ended: Ended) -> dict[str, Any]:
    why = {"hangs": "they wait for each other", "late": "they do not end"}.get(ended.how, "they fail")
    return {"error": ["its ranks, run together", f"{why}: {ended.why}" if ended.why else why, ""]}
