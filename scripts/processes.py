"""Verdict in a process of its own, where time and memory are what is measured, or where it must end in time.

A script that wants nothing but a verdict calls `verdict.pipeline.verify`.
"""

import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import click

ROOT = Path(__file__).resolve().parents[1]
VERDICTS = {0: "PROVED", 1: "REFUTED", 2: "not put", 3: "UNKNOWN", 4: "internal error", None: "time out"}
"""What a run says with its exit status; None is no end in time."""
TICK = 0.01
"""Seconds between two looks at whether a process has ended."""


@dataclass(frozen=True)
class Done:
    """A process that ended, or that was ended.

    seconds: that it took. cpu: seconds of the processor, with its children. memory: the peak of resident memory of the
    largest of them, in MiB.
    """

    status: int | None
    output: str
    errors: str
    seconds: float
    cpu: float
    memory: float

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON that it wrote; empty where it wrote none."""
        return dict(json.loads(self.output)) if self.output else {}

    @property
    def verdict(self) -> str:
        """The verdict, or how it ended without one."""
        return str(self.data.get("verdict", VERDICTS.get(self.status, f"exit {self.status}")))

    @property
    def reasons(self) -> list[str]:
        """Codes of its findings, else what is open, each once; else the last of what it complained of."""
        found = [finding["code"] for finding in self.data.get("findings", ())]
        found += [item["reason"] for item in self.data.get("unknown", ())]
        return list(dict.fromkeys(found)) or [self.errors.strip()[-200:]]


def run(
    *words: str,
    module: str = "verdict",
    checkout: Path = ROOT,
    settings: Mapping[str, str] | None = None,
    timeout: float | None = None,
    shown: bool = False,
    python: str = sys.executable,
) -> Done:
    """A module, `verdict` unless another is named, with these words.

    checkout: the copy of the project that is run. settings: variables of its environment. shown: what it writes goes to
    the terminal, and is not kept. python: who runs it.
    """
    path = os.pathsep.join(filter(None, (str(checkout), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **(settings or {}), "PYTHONPATH": path}
    command, begun = [python, "-m", module, *words], time.monotonic()
    with TemporaryFile("w+") as output, TemporaryFile("w+") as errors:
        where = {} if shown else {"stdout": output, "stderr": errors}
        process = subprocess.Popen(command, cwd=checkout, env=environment, start_new_session=True, **where)
        status, usage = _ended(process, timeout)
        seconds = time.monotonic() - begun
        said = [_whole(file) for file in (output, errors)] if status is not None else ["", ""]
    return Done(status, *said, seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def ask(single: Path, parallel: Path, *options: str, checkout: Path = ROOT, timeout: float | None = None) -> Done:
    """The JSON report on a pair of plans."""
    words = ("--sm", str(single), "--pm", str(parallel), "--format", "json", *options)
    return run(*words, checkout=checkout, timeout=timeout)


def record(
    file: Path,
    builder: str,
    one: str,
    ranks: int,
    folder: Path,
    *options: str,
    checkout: Path = ROOT,
    settings: Mapping[str, str] | None = None,
    timeout: float | None = None,
    python: str = sys.executable,
) -> tuple[Done, Path, Path]:
    """Record a program and the single-device program of the same file: how that went, and the files of the plans."""
    words = ("capture", f"{file}:{builder}", "--single", f"{file}:{one}", "--world", str(ranks), "-o", str(folder))
    done = run(*words, *options, checkout=checkout, settings=settings, timeout=timeout, python=python)
    return done, folder / "single.plan", folder / "parallel.plan"


def generate(
    model: str, sizes: Mapping[str, Any], folder: Path, *flags: str, timeout: float | None = None
) -> tuple[Path, Path]:
    """The files of a generated pair. Raises ClickException with what was complained of where none are made."""
    words = [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
    done = run("generate", model, *words, *flags, "-o", str(folder), timeout=timeout)
    if done.status != 0:
        raise click.ClickException(f"{model}: nothing was generated: {done.errors.strip() or done.verdict}")
    return folder / "single.plan", folder / "parallel.plan"


def _ended(process: subprocess.Popen[bytes], timeout: float | None) -> tuple[int | None, resource.struct_rusage]:
    """The exit status, None of what is ended with all that it began since it takes longer; and what was used."""
    until, ended = math.inf if timeout is None else time.monotonic() + timeout, 0
    try:
        while not ended and time.monotonic() < until:
            time.sleep(TICK)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    finally:
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
    if not ended:
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode if ended else None, usage


def _whole(file: IO[str]) -> str:
    file.seek(0)
    return file.read()
