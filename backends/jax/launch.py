"""A user's file in a process of its own, on virtual CPU devices, until XLA's texts are there."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from verdict.backends.jax import worker
from verdict.child import session
from verdict.errors import UsageError

HLO, JAXPR = DOORS = ("hlo", "jaxpr")
BUILD, BUILD_SINGLE = "build", "build_single"
MOST_SHOWN = 300
"""The most characters of what a process that died said last, so that it stays a sentence."""


class Limits(NamedTuple):
    """Of the process: its time, and its address space. XLA reserves some gibibytes of the latter."""

    seconds: float = 300.0
    mebibytes: int = 32768


class Texts(NamedTuple):
    """Files of HLO text. shardings: the module right before the partitioner. alone: `before` is of BUILD_SINGLE.
    ranges: what the file says that parameters of integers lie between, by name.
    """

    before: str
    shardings: str
    after: str
    alone: bool
    ranges: Mapping[str, tuple[int, int]]


def texts_of(
    target: str, devices: int, folder: Path, python: str, passes: bool, limits: Limits, door: str = HLO
) -> Texts:
    """The texts of FILE.py[:FUNCTION], in `folder`. door: HLO, or JAXPR for what jax traced, of which nothing is
    compiled. Raises UsageError where there are none.
    """
    file, function = _target(target)
    job = {"file": str(Path(file).resolve()), "function": function, "single": BUILD_SINGLE, "devices": devices}
    (folder / "job.json").write_text(json.dumps({**job, "passes": passes, "door": door, "mebibytes": limits.mebibytes}))
    _run([python or sys.executable, "-P", str(worker.__file__), str(folder)], devices, folder, target, limits)
    reply = json.loads((folder / "reply.json").read_text())
    if "refused" in reply:
        where, problem, what = reply["refused"]
        raise UsageError(where, problem, what)
    ranges = {name: (low, high) for name, (low, high) in reply["ranges"].items()}
    return Texts(reply["before"], reply["shardings"], reply["after"], reply["alone"], ranges)


def _target(text: str) -> tuple[str, str]:
    file, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        file, function = text, BUILD
    if not Path(file).is_file():
        raise UsageError(file, "there is no such file", "give FILE.py or FILE.py:FUNCTION")
    return file, function


def _run(command: list[str], devices: int, folder: Path, target: str, limits: Limits) -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}".strip()
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "PYTHONWARNINGS": "ignore"}
    log = folder / "log"
    try:
        with session(command, environment, log) as process:
            status = process.wait(limits.seconds)
    except OSError as error:
        raise UsageError(command[0], f"it cannot be run: {error.strerror}", "is --python right?") from None
    except subprocess.TimeoutExpired:
        raise UsageError(target, f"it is not compiled in {limits.seconds:g} s", "raise --compile-timeout") from None
    if not (folder / "reply.json").exists():
        said = log.read_text(errors="replace").strip().splitlines() or [f"status {status}"]
        problem = f"its process died: {said[-1][:MOST_SHOWN]}"
        raise UsageError(target, problem, "raise --compile-memory, or run the file by itself")
