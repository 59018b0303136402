"""The Python interface: plans read, generated and written, and two of them verified. `import verdict` offers it."""

import os
import time
from dataclasses import fields, replace
from typing import Any

from verdict import backends
from verdict.backends import generator
from verdict.errors import PlanFileError, PlanMismatchError, UsageError, VerdictError
from verdict.graph import Plan
from verdict.limits import Limits
from verdict.lineage import CHUNK_ORDER
from verdict.logged import LOG, Logged
from verdict.observer import Phase
from verdict.options import Options, SolverOptions
from verdict.outcome import Finding
from verdict.phases import known_assumptions
from verdict.pipeline import verify as _verify
from verdict.report import Report, Verdict
from verdict.words import known_text

__all__ = [
    "MAY_ASSUME", "Finding", "Options", "Plan", "PlanFileError", "PlanMismatchError", "Report", "SolverOptions",
    "UsageError", "Verdict", "VerdictError", "generate", "load", "require_known", "save", "verify",
]  # fmt: skip

MAY_ASSUME = frozenset({CHUNK_ORDER})
"""What may be taken for granted where it is asked for; other assumptions are made, told, and may be denied."""

Source = Plan | str | os.PathLike[str]
"""A plan, or the file of one."""


def verify(
    single: Source,
    parallel: Source,
    options: Options | None = None,
    *,
    time_limit: float | None = None,
    memory_limit: int | None = None,
) -> Report:
    """Whether `parallel` computes what `single` computes: every loss, gradient, updated weight and further output.

    single, parallel: plans, or files of any kind that `load` reads. options: none are `Options()`, which proves in this
    process, and looks for no repair. time_limit: seconds for the whole run, counted from this call; it interrupts the
    main thread alone. memory_limit: MiB that this process may take beyond what it has. What is ended before it is
    decided is UNKNOWN. They take the place of `options.limits`.

    The phases are logged to the logger `verdict`, at the level INFO.

    Raises PlanFileError where a plan cannot be read or is malformed, PlanMismatchError where the two have nothing in
    common, UsageError where an option names no assumption.
    """
    chosen = options or Options()
    if time_limit is not None or memory_limit is not None:
        chosen = replace(chosen, limits=Limits(time_limit, memory_limit, time.monotonic()))
    require_known("Options.assume", chosen.assume, MAY_ASSUME)
    logged = Logged()
    logged.begin(Phase.LOAD)
    plans = _plan(single), _plan(parallel)
    require_known("Options.denied", chosen.denied, known_assumptions(plans))
    report = _verify(*plans, chosen, logged)
    LOG.info("%s: %s", plans[1].source, report.verdict.name)
    return report


def load(path: str | os.PathLike[str]) -> Plan:
    """The plan in a file: Verdict's text, an nnScaler pickle or plain data, each also packed with xz, gzip or zstd.

    Nothing in the file is run; it is read in a process of its own. Raises PlanFileError where it cannot be read.
    """
    return backends.load(os.fspath(path))


def save(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan as text, packed where the path ends in .xz, .gz or .zst. Raises UsageError where it cannot be."""
    backends.save(plan, os.fspath(path))


def generate(model: str, **sizes: Any) -> tuple[Plan, Plan]:
    """The single-device plan and the parallel plan of a model: llama3, deepseek, gpt or mlp.

    sizes: the options of `verdict generate` with _ for -, as `layers=2, dp=2, tp=4`; what is not given has the default
    that `verdict generate --help` shows. Raises UsageError where there is no such model or size, or they do not fit.
    """
    require_known("generate", sizes, frozenset(field.name for field in fields(generator.Sizes)), "size")
    return generator.generate(model, generator.Sizes(**sizes))


def require_known(option: str, names: Any, known: frozenset[str], what: str = "assumption") -> None:
    """Raise UsageError where one of the names is none of those that are known."""
    unknown = sorted(set(names) - known)
    if unknown:
        raise UsageError(option, f"there is no {what} {unknown[0]}", known_text(unknown[0], sorted(known)))


def _plan(source: Source) -> Plan:
    return source if isinstance(source, Plan) else load(source)
