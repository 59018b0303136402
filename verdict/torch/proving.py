"""Programs are recorded, and a parallel one is required to be proved: what `verdict.torch` does itself."""

import inspect
import io
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from verdict.backends.torch.command import BUILD, BUILD_SINGLE, LIMITS
from verdict.backends.torch.command import capture as _capture
from verdict.backends.torch.launch import Limits, Target
from verdict.backends.torch.program import Context, Program
from verdict.backends.torch.step import Step
from verdict.errors import UsageError
from verdict.graph import Plan
from verdict.logged import LOG, Logged
from verdict.measure import Stopwatch
from verdict.options import Options
from verdict.pipeline import verify as _verify
from verdict.report import Report, Verdict, show

Build = Callable[[Context], Program] | str
"""A function at the top of a file, or FILE.py:FUNCTION."""


def capture(
    build: Build, world: int = 1, tensors: str = "auto", cores: int = 0, seconds: float = LIMITS.seconds,
    confirm: bool = True,
) -> Plan:  # fmt: skip
    """The plan of the program that `build` builds, recorded on all ranks of `world`.

    tensors: "fake" for tensors without data, "real", "auto" for these where those do not serve, "live" for all ranks
    together on real numbers. cores: ranks side
    by side, 0 for all cores. seconds: the limit for one rank. confirm: whether the program is run, too, and its
    recording held against the runs.
    Raises UsageError where the program cannot be recorded, or does something else when it is run.
    """
    limits = LIMITS._replace(seconds=seconds, confirm=LIMITS.confirm if confirm else 0.0)
    return _recorded([(_target(build, BUILD if world > 1 else BUILD_SINGLE), world)], tensors, cores, limits)[0]


def assert_equivalent(
    build: Build,
    single: Build,
    world: int,
    tensors: str = "auto",
    denied: Sequence[str] = (),
    options: Options | None = None,
    confirm: bool = True,
) -> Report:
    """Record both programs and require that the parallel one is PROVED to compute what the single-device one does.

    tensors: as of `capture`. denied: names of assumptions that the proof must not rest on. confirm: whether they are
    run, too, and their recordings held against the runs. Raises AssertionError with the report otherwise.
    """
    programs = [(_target(single, BUILD_SINGLE), 1), (_target(build, BUILD), world)]
    limits = LIMITS if confirm else LIMITS._replace(confirm=0.0)
    alone, parallel = _recorded(programs, tensors, limits=limits)
    return require_equivalent(alone, parallel, denied, options)


def verify(
    single: Callable[[], Any],
    parallel: Callable[[Any, Any], Any] | None,
    *,
    batch: Callable[[], Mapping[str, Any]],
    mesh: Mapping[str, int] | int,
    options: Options | None = None,
    confirm: bool = True,
    tensors: str = "auto",
    **more: Any,
) -> Report:
    """The report on a model and what parallelizes it. All functions must stand at the top of one file.

    single: makes the model. parallel: takes it and a mesh, and returns what is called in its place. batch: makes the
    whole batch, tensors by name for the model's call. mesh: sizes by axis, or a number of data parallel ranks. confirm:
    whether the programs are run, too. tensors: as of `capture`. more: the other fields of `Step`: loss, optimizer,
    clip, data, whole, specs, ranges, names.

    Raises UsageError where the programs cannot be recorded.
    """
    plans = _plans(Step(single, parallel, batch, mesh, **more), confirm, tensors)
    return _verify(*plans, options or Options(workers=os.cpu_count() or 1), Logged())


def assert_parallel(
    single: Callable[[], Any],
    parallel: Callable[[Any, Any], Any] | None,
    *,
    batch: Callable[[], Mapping[str, Any]],
    mesh: Mapping[str, int] | int,
    denied: Sequence[str] = (),
    options: Options | None = None,
    confirm: bool = True,
    tensors: str = "auto",
    **more: Any,
) -> Report:
    """Prove what `verify` reports on. denied: names of assumptions not to be made.

    Raises AssertionError with the report where it is not PROVED, and UsageError as `verify`.
    """
    return require_equivalent(*_plans(Step(single, parallel, batch, mesh, **more), confirm, tensors), denied, options)


def _recorded(
    programs: Sequence[tuple[Target, int]], tensors: str, cores: int = 0, limits: Limits = LIMITS
) -> list[Plan]:
    return _capture(programs, tensors, cores, limits, LOG.info, Logged().advance)


def _plans(step: Step, confirm: bool, tensors: str) -> tuple[Plan, Plan]:
    """A step's plans on one device and on its mesh."""
    limits = LIMITS if confirm else LIMITS._replace(confirm=0.0)
    with TemporaryDirectory(prefix="verdict-step-") as folder:
        file = Path(folder) / "step.py"
        file.write_text(_written(step), encoding="utf-8")
        target = Target(str(file), "STEP")
        alone, across = _recorded([(target, 1), (target, step.world)], tensors, limits=limits)
    return replace(alone, source="the model"), replace(across, source="the model on its mesh")


def _written(step: Step) -> str:
    """A file that holds the step as STEP: its functions by file and name, the rest as Python writes it."""
    files, values = dict[str, str](), []
    for name in (each.name for each in fields(Step)):
        value = getattr(step, name)
        if callable(value):
            target = _target(value, "")
            module = files.setdefault(str(Path(target.file).resolve()), f"module_{len(files)}")
            values.append(f"{name}={module}.{target.function}")
        else:
            values.append(f"{name}={value!r}")
    loaded = [f"{module} = module_in({file!r})" for file, module in files.items()]
    rooms = {"files": "module_in", "program": "Share", "step": "Step"}
    head = [f"from verdict.backends.torch.{room} import {name}" for room, name in rooms.items()]
    return "\n".join([*head, *loaded, f"STEP = Step({', '.join(values)})", ""])


def require_equivalent(
    single: Plan, parallel: Plan, denied: Sequence[str] = (), options: Options | None = None
) -> Report:
    """The report on two plans, if it is PROVED; else an AssertionError that holds it. Unknown is not proved."""
    options = options or Options(workers=os.cpu_count() or 1)
    watch = Stopwatch()
    watch.begin("verify")
    report = _verify(single, parallel, replace(options, denied=options.denied | frozenset(denied)), Logged())
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
