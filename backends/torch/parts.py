"""Recordings of some ranks of a program, as files, which are put together where all are there."""

import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import verdict
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.confirmation import NOT_RUN, Confirmation, confirmed
from verdict.backends.torch.evidence import digest
from verdict.backends.torch.launch import Target
from verdict.backends.torch.trace import Trace, from_plain, to_plain
from verdict.errors import UsageError
from verdict.graph import Plan

VERSION = 1
"""Of the form of a part; it grows when a field changes its meaning or goes."""
APART = Confirmation(NOT_RUN, "its ranks were recorded apart")
_OF = ("program", "world", "tensors", "content", "verdict", "python")
"""What all parts of a recording have alike."""


class Part(NamedTuple):
    """Some ranks of a program, and what all parts must have alike: content is a hash of the program's file."""

    program: str
    world: int
    tensors: str
    content: str
    verdict: str
    python: str
    traces: tuple[Trace, ...]


def part_of(target: Target, world: int, tensors: str, traces: Sequence[Trace]) -> Part:
    """What was recorded here."""
    program = f"{Path(target.file).name}:{target.function}"
    versions = (verdict.__version__, platform.python_version())
    return Part(program, world, tensors, digest(target.file), *versions, tuple(traces))


def write_part(path: Path, part: Part) -> None:
    """Write a part. Raises OSError where it cannot be."""
    told = {"version": VERSION, **part._asdict(), "traces": [to_plain(trace) for trace in part.traces]}
    path.write_text(json.dumps(told), encoding="utf-8")


def read_part(path: str) -> Part:
    """What `write_part` wrote. Raises UsageError where it is something else."""
    try:
        told: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        if told.pop("version") != VERSION:
            raise UsageError(path, "it was recorded by another version of Verdict", "record it anew")
        part = Part(**{**told, "traces": tuple(from_plain(trace) for trace in told["traces"])})
        fine = all(isinstance(getattr(part, name), int if name == "world" else str) for name in _OF)
        fine &= all(trace.world == part.world for trace in part.traces)
    except OSError as error:
        raise UsageError(path, f"it cannot be read: {error.strerror}", "is the path right?") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        fine = False
    if not fine:
        raise UsageError(path, "it holds no recording of ranks", "give what verdict capture --ranks wrote")
    return part


def together(paths: Sequence[str]) -> Plan:
    """The plan of a program of which these files hold all ranks. Raises UsageError where they do not, or do not fit."""
    parts = {path: read_part(path) for path in paths}
    first_path, first = next(iter(parts.items()))
    traces: dict[int, tuple[str, Trace]] = {}
    for path, part in parts.items():
        for name in _OF:
            if getattr(part, name) != getattr(first, name):
                problem = f"its {name} is {getattr(part, name)}, and that of {first_path} is {getattr(first, name)}"
                raise UsageError(path, problem, "record all ranks of one program in one way")
        for trace in part.traces:
            if trace.rank in traces:
                raise UsageError(path, f"it holds rank {trace.rank}, as {traces[trace.rank][0]} does", "give it once")
            traces[trace.rank] = path, trace
    missing = sorted({*range(first.world)} - traces.keys())
    if missing or len(traces) != first.world:
        shown = ", ".join(map(str, missing[:8]))
        raise UsageError("the parts", f"of {first.world} ranks {shown} are missing", "give all parts")
    whole = tuple(traces[rank][1] for rank in range(first.world))
    return confirmed(plan_of(whole, first.program), APART, whole)
