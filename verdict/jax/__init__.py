"""Verdict for JAX programs: what XLA's partitioner makes of one is required to compute what the program computes.

    from verdict.jax import assert_equivalent

    def build():
        return jax.jit(step, in_shardings=..., out_shardings=...), arguments

    def test_step():
        assert_equivalent(build, devices=8)

A `build` function is run in a process of its own, so it must be importable: a function at the top of a file. Its
arguments may be `jax.ShapeDtypeStruct`s. Where its file has a function `build_single`, the program which that returns
is compared with: so `shard_map` programs are verified. Importing this needs no jax.
"""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from verdict.backends.hlo.ranges import NO_RANGES, Ranges
from verdict.backends.jax.command import DEVICES, pairs_of_program
from verdict.concrete.alone import outputs_of
from verdict.errors import UsageError
from verdict.logged import Logged
from verdict.options import Options
from verdict.pipeline import verify as _verify
from verdict.report import Report, Verdict
from verdict.torch.proving import require_equivalent

__all__ = ["assert_equivalent", "verify"]
Build = Callable[[], Any] | str
"""A function at the top of a file, or FILE.py:FUNCTION."""


def verify(
    build: Build,
    devices: int = DEVICES,
    python: str = "",
    ranges: Ranges = NO_RANGES,
    options: Options | None = None,
) -> Report:
    """The report on the program that `build` returns, compiled for so many virtual devices.

    build: a function at the top of a file that returns a jitted function and its arguments. devices: how many. python:
    the Python that has jax, where that is not this one. ranges: the least and the greatest integer of arguments of
    integers, by name: {"ids": (0, 15)}. options: of the proof. Raises UsageError where it cannot be compiled. What is
    compared with what: docs/jax.md.
    """
    for pair in pairs_of_program(_target(build), devices, python, ranges, on_numbers=outputs_of):
        report = _verify(*pair, options or Options(), Logged())
        if report.verdict is Verdict.PROVED:
            break
    return report


def assert_equivalent(
    build: Build,
    devices: int = DEVICES,
    python: str = "",
    ranges: Ranges = NO_RANGES,
    denied: Sequence[str] = (),
    options: Options | None = None,
) -> Report:
    """The report, if it is PROVED; else an AssertionError that holds it.

    build, devices, python, ranges, options: as of `verify`. denied: names of assumptions that the proof must not rest
    on. Raises AssertionError where it is not PROVED, UsageError as `verify`.
    """
    failed = AssertionError()
    for pair in pairs_of_program(_target(build), devices, python, ranges, on_numbers=outputs_of):
        try:
            return require_equivalent(*pair, denied, options)
        except AssertionError as error:
            failed = error
    raise failed


def _target(build: Any) -> str:
    if isinstance(build, str):
        return build
    file, name = inspect.getsourcefile(build), getattr(build, "__qualname__", "")
    if file is None or not name.isidentifier():
        raise UsageError(str(name or build), "it is no function at the top of a file", "move it there, or name it")
    return f"{file}:{name}"
