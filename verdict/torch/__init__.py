"""Verdict for PyTorch programs: record a training step on one device and on many ranks, and verify that they agree.

    from verdict.torch import Program, assert_equivalent, shard

    def build_single(ctx): ...
    def build(ctx): ...

    assert_equivalent(build, build_single, world=8)

A `build` function returns a Program: one rank's training step, its inputs and parameters, and what each of its
tensors is of the single-device tensor. It is recorded in processes of its own, so it must be importable: a function
at the top of a file. Recording needs torch, `python -m pip install 'verdict[torch]'`; importing this does not.
"""

import inspect
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from backends.torch.command import BUILD, BUILD_SINGLE
from backends.torch.command import capture as _capture
from backends.torch.launch import Target
from backends.torch.program import REPLICATE, Context, Program, Share, mean, partial, piece, shard
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.measure import Stopwatch
from verdict.options import Options
from verdict.pipeline import verify
from verdict.report import Report, Verdict, show

__all__ = [
    "REPLICATE", "Context", "Program", "Share", "assert_equivalent", "capture", "mean", "partial", "piece",
    "probe", "require_equivalent", "shard",
]  # fmt: skip

Build = Callable[[Context], Program] | str
"""A function at the top of a file, or FILE.py:FUNCTION."""


def capture(build: Build, world: int = 1, tensors: str = "fake", cores: int = 0, seconds: float = 600.0) -> Plan:
    """The plan of the program that `build` builds, recorded on all ranks of `world`.

    tensors: "fake" for tensors without data, "real". cores: ranks side by side, 0 for all cores. seconds: the limit
    for one rank. Raises UsageError where the program cannot be recorded.
    """
    return _capture([(_target(build, BUILD if world > 1 else BUILD_SINGLE), world)], tensors, cores, seconds)[0]


def probe(
    make: Callable[[], Any], cut: Callable[[Any], Any], specs: Mapping[str, Share] | None = None
) -> dict[str, Share]:
    """Specs for a rank's parameters, found by running the code that cuts them on the numbers of their elements.

    make: makes the single-device model. cut: takes it, and returns what this rank keeps: a module, or tensors by
    name. specs: further ones; those of the same parameters must agree with what is found. To be called in `build`.
    Raises UsageError where they do not, or where a tensor is no rectangular part of one parameter.
    """
    from backends.torch.probe import probe as _probe  # noqa: PLC0415  (importing this needs no torch)

    return _probe(make, cut, specs or {})


def assert_equivalent(
    build: Build,
    single: Build,
    world: int,
    tensors: str = "fake",
    denied: Sequence[str] = (),
    options: Options | None = None,
) -> Report:
    """Record both programs and require that the parallel one is PROVED to compute what the single-device one does.

    denied: names of assumptions that the proof must not rest on. Raises AssertionError with the report otherwise.
    """
    programs = [(_target(single, BUILD_SINGLE), 1), (_target(build, BUILD), world)]
    alone, parallel = _capture(programs, tensors)
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
