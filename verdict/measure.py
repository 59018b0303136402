"""Time and memory of a run, and the row that --stats appends."""

import csv
import os
import resource
import time
from typing import Any

from verdict.errors import UsageError
from verdict.observer import Phase
from verdict.report import Measured, Report

LONGEST_HEADER = 4096
"""Characters of a file's first line that are read: more than the header of any file of --stats has."""


class Stopwatch:
    """Seconds between the beginnings of phases."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.phase = ""
        self.since = time.perf_counter()

    def begin(self, phase: str) -> None:
        """End the running phase, if there is one, and begin another."""
        now = time.perf_counter()
        if self.phase:
            self.seconds[self.phase] = self.seconds.get(self.phase, 0.0) + now - self.since
        self.phase, self.since = phase, now

    def measured(self, workers: int) -> Measured:
        """All that was measured until now."""
        self.begin("")
        return Measured(tuple(self.seconds.items()), peak_memory_mib(), workers)


def peak_memory_mib() -> float:
    """The peak of resident memory of this process or of its largest child, in MiB."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return max(usage.ru_maxrss for usage in usages) / 1024


NAMES = (
    *("verdict", "single", "parallel", "ranks", "mesh", "microbatches", "weights", "nodes_single", "nodes_parallel"),
    *("stages", "distinct", "obligations", "findings", "open", *(f"t_{phase}" for phase in Phase)),
    *("t_total", "peak_memory_mib", "workers"),
)
"""The columns of the file of --stats."""


def require_rows(path: str) -> None:
    """Raises UsageError where a file is there that `append_row` did not make."""
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        return
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as file:
            first = file.readline(LONGEST_HEADER)
    except OSError as error:
        raise UsageError(path, f"the statistics cannot be written: {error.strerror}", "give a writable file") from None
    if first.rstrip("\r\n") != ",".join(NAMES):
        raise UsageError(path, "the statistics cannot be written: it has other columns", "give a new file")


def append_row(path: str, report: Report, measured: Measured) -> None:
    """Append one row about a run to a CSV file; a new file gets a header."""
    row: dict[str, Any] = {
        "verdict": report.verdict.name,
        "single": report.single.source,
        "parallel": report.parallel.source,
        "ranks": report.parallel.ranks,
        "mesh": " ".join(f"{axis}{size}" for axis, size in report.parallel.mesh),
        "microbatches": report.parallel.microbatches,
        "weights": report.parallel.weights,
        "nodes_single": report.single.nodes,
        "nodes_parallel": report.parallel.nodes,
        "stages": report.proofs.stages,
        "distinct": report.proofs.distinct,
        "obligations": report.proofs.obligations,
        "findings": len(report.findings),
        "open": len(report.unanswered),
        **{f"t_{phase}": f"{dict(measured.seconds).get(phase, 0.0):.3f}" for phase in Phase},
        "t_total": f"{measured.total:.3f}",
        "peak_memory_mib": f"{measured.peak_memory_mib:.0f}",
        "workers": measured.workers,
    }
    try:
        new = not os.path.exists(path) or os.path.getsize(path) == 0
        with open(path, "a", newline="", encoding="utf-8", errors="replace") as file:
            writer = csv.DictWriter(file, NAMES)
            if new:
                writer.writeheader()
            writer.writerow(row)
    except OSError as error:
        raise UsageError(path, f"the statistics cannot be written: {error.strerror}", "give a writable file") from None
