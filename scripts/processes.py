"""Verdict in a process of its own, where time and memory are what is measured, or where it must end in time.

A script that wants nothing but a verdict calls `verdict.verify.verify`.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
VERDICTS = {0: "PROVED", 1: "REFUTED", 2: "not put", 3: "UNKNOWN", 4: "internal error", None: "time out"}
"""What a run says with its exit status; None is no end in time."""


@dataclass(frozen=True)
class Done:
    """A process that ended, or that was ended. seconds: that it took; cpu: of the processor, with its children."""

    status: int | None
    output: str
    errors: str
    seconds: float
    cpu: float

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


def run(*words: str, timeout: float | None = None, shown: bool = False) -> Done:
    """`verdict` with these words. shown: what it writes goes to the terminal, and is not kept."""
    command = [sys.executable, "-m", "verdict", *words]
    before, begun = _cpu(), time.monotonic()
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=not shown, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return Done(None, "", "", time.monotonic() - begun, _cpu() - before)
    return Done(done.returncode, done.stdout or "", done.stderr or "", time.monotonic() - begun, _cpu() - before)


def ask(single: Path, parallel: Path, *options: str, timeout: float | None = None) -> Done:
    """The JSON report on a pair of plans."""
    return run("--sm", str(single), "--pm", str(parallel), "--format", "json", *options, timeout=timeout)


def generate(
    model: str, sizes: Mapping[str, Any], folder: Path, *flags: str, timeout: float | None = None
) -> tuple[Path, Path]:
    """The files of a generated pair. Raises ClickException with what was complained of where none are made."""
    words = [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
    done = run("generate", model, *words, *flags, "-o", str(folder), timeout=timeout)
    if done.status:
        raise click.ClickException(f"{model}: nothing was generated: {done.errors.strip()}")
    return folder / "single.plan", folder / "parallel.plan"


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
