"""Report -> terminal: the verdict first, then the findings, then what it rests on. Plain where not a terminal."""

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from verdict.report.colours import AMBER, GREEN, RED
from verdict.report.finding import finding_lines
from verdict.report.headline import headline
from verdict.report.lines import WIDTH, counted, wrapped
from verdict.report.readable import readable
from verdict.report.report import Measured, Report, Side, Verdict
from verdict.report.statistics import statistics

COLOURS = {Verdict.PROVED: GREEN, Verdict.REFUTED: RED, Verdict.UNKNOWN: AMBER}
UNKNOWN = "unknown"
NARROWEST = 60
"""Columns. On a terminal that is narrower, lines break by themselves: tables need as much."""
SHOWN_OPEN = 10
"""How many open questions are listed unless -v asks for all; the rest is counted."""


def show(report: Report, measured: Measured, console: Console, verbose: int = 0) -> None:
    """Print the report. verbose: -1 only the verdict, 0 the usual, 1 also what it rests on and all that is open."""
    page = _Page(console)
    name = report.verdict.name
    first, *others = wrapped(f"{name}  {headline(report)}", "", "  ", page.width)
    page.print(Text.assemble((name, COLOURS[report.verdict]), first[len(name) :]))
    for line in others:
        page.print(line)
    if verbose < 0:
        return
    for kind, findings in (("error", report.findings), ("note", report.notes)):
        for finding in findings:
            page.print()
            for part in finding_lines(finding, report.parallel.replicas, kind, page.width):
                page.print(part)
    _open(report, verbose, page)
    page.print()
    counts = statistics(report) if verbose else ()
    for text in (_sizes("single", report.single), _sizes("parallel", report.parallel), *counts):
        for line in wrapped(text, "", "  ", page.width):
            page.print(line)
    for trusted in _trust(report, verbose, page.width):
        page.print(trusted)
    page.print(f"{measured.total:.1f} s, {measured.peak_memory_mib:.0f} MiB")
    if verbose:
        page.print("  " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in measured.seconds))


def _open(report: Report, verbose: int, page: "_Page") -> None:
    """The questions that are left open; how many, where there is a fault to look at first."""
    if report.findings and report.unanswered and not verbose:
        count = len(report.unanswered)
        page.print(f"{counted(count, 'question')} left open behind that (-v shows all)")
        return
    asked = report.unanswered if verbose else report.asked
    limit = len(asked) if verbose else SHOWN_OPEN
    for item in asked[:limit]:
        lines = wrapped(f"{UNKNOWN}[{item.code}]: {item.where}: {item.reason}", "", "  ", page.width)
        page.print(Text.assemble((UNKNOWN, AMBER), lines[0][len(UNKNOWN) :]))
        for line in lines[1:]:
            page.print(line)
    if len(asked) > limit:
        page.print(f"... and {len(asked) - limit} more (-v shows all)")
    if resting := len(report.unanswered) - len(asked):
        rest = "rests" if resting == 1 else "rest"
        page.print(f"{counted(resting, 'declared output')} {rest} on that (-v shows all)")


def _sizes(name: str, side: Side) -> str:
    axes = " ".join(f"{axis}={size}" for axis, size in side.mesh)
    mesh = f" ({axes})" if axes else ""
    return (
        f"{name:<9} {side.source}: {counted(side.ranks, 'rank')}{mesh}, "
        f"{counted(side.microbatches, 'microbatch', 'es')}, "
        f"{counted(side.nodes, 'node')}, {counted(side.weights, 'weight')}"
    )


def _trust(report: Report, verbose: int, width: int) -> Iterator[Text]:
    """The names of what was taken on trust; -v says what they mean. Nothing where a fault is what matters."""
    if not report.assumptions or (report.findings and not verbose):
        return
    if not verbose:
        names = ", ".join(assumption.name for assumption in report.assumptions)
        yield from map(Text, wrapped(f"taken on trust: {names} (-v says what they mean)", "", "  ", width))
        return
    yield Text("taken on trust (--deny-assumption NAME turns one into a failure)")
    for assumption in report.assumptions:
        yield Text.assemble("  ", (assumption.name, "bold"), f": {assumption.text}")


class _Page:
    """A console that prints single lines, of harmless characters only."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.width = max(console.width, NARROWEST) if console.is_terminal else WIDTH

    def print(self, line: Text | str = "") -> None:
        """Print one line."""
        text = line if isinstance(line, Text) else Text(line)
        text.plain = readable(text.plain)
        self._console.print(text)
