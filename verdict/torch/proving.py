"""Programs are recorded, and a parallel one is required to be proved: what `verdict.torch` does itself."""

import inspect
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from verdict.backends.torch.command import BUILD, BUILD_SINGLE, LIMITS
from verdict.backends.torch.command import capture as _capture
from verdict.backends.torch.launch import Target
from verdict.backends.torch.program import Context, Program
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.measure import Stopwatch
from verdict.options import Options
from verdict.report import Report, Verdict, show
from verdict.verify import verify

Build = Callable[[Context], Program] | str
"""A function at the top of a file, or FILE.py:FUNCTION."""


def capture(
    build: Build, world: int = 1, tensors: str = "fake", cores: int = 0, seconds: float = LIMITS.seconds,
    confirm: bool = True,
) -> Plan:  # fmt: skip
    """The plan of the program that `build` builds, recorded on all ranks of `world`.

    tensors: "fake" for tensors without data, "real". cores: ranks side by side, 0 for all cores. seconds: the limit
    for one rank. confirm: whether the program is run, too, and its recording held against the runs.
    Raises UsageError where the program cannot be recorded, or does something else when it is run.
    """
    limits = LIMITS._replace(seconds=seconds, confirm=LIMITS.confirm if confirm else 0.0)
    return _capture([(_target(build, BUILD if world > 1 else BUILD_SINGLE), world)], tensors, cores, limits)[0]


def assert_equivalent(
    build: Build,
    single: Build,
    world: int,
    tensors: str = "fake",
    denied: Sequence[str] = (),
    options: Options | None = None,
    confirm: bool = True,
) -> Report:
    """Record both programs and require that the parallel one is PROVED to compute what the single-device one does.

    denied: names of assumptions that the proof must not rest on. confirm: whether the programs are run, too, and their
    recordings held against the runs. Raises AssertionError with the report otherwise.
    """
    programs = [(_target(single, BUILD_SINGLE), 1), (_target(build, BUILD), world)]
    limits = LIMITS if confirm else LIMITS._replace(confirm=0.0)
    alone, parallel = _capture(programs, tensors, limits=limits)
    return require_equivalent(alone, parallel, denied, options)


def require_equivalent(
    single: Plan, parallel: Plan, denied: Sequence[str] = (), options: Options | None = None
) -> Report:
    """The report on two plans, if it is PROVED; else an AssertionError that holds it. Unknown is not proved."""
    options = options or Options(workers=os.cpu_count() or 1)
    watch = Stopwatch()
    watch.begin("verify")
    report = verify(single, parallel, replace(options, denied=options.denied | frozenset(denied)))
    if report.verdict is not Verdict.PROVED:
        raise AssertionError(_text(report, watch, options))
    return report


def _text(report: Report, watch: Stopwatch, options: Options) -> str:
    told = io.StringIO()
    console = Console(file=told, soft_wrap=True, highlight=False, markup=False, emoji=False, width=120)
    show(report, watch.measured(options.workers), console)
    return told.getvalue()


def _target(build: Any, otherwise: str) -> Target:
    if isinstance(build, str):
        return Target.of(build, otherwise)
    file, name = inspect.getsourcefile(build), getattr(build, "__qualname__", "")
    if file is None or not name.isidentifier():
        raise UsageError(str(name or build), "it is no function at the top of a file", "move it there, or name it")
    return Target(file, name)
