"""`verdict diff`: what changed between two JSON reports."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import click

from verdict.errors import UsageError
from verdict.report.lines import counted, wrapped
from verdict.report.readable import readable
from verdict.report.report import VERSION, Verdict

VERDICTS = tuple(verdict.name for verdict in Verdict)


class Told(NamedTuple):
    """What a finding is known by from one report to the next."""

    code: str
    where: str
    title: str

    def __str__(self) -> str:
        return f"{self.code}: {self.title} (at {self.where})"


class Change(NamedTuple):
    """What differs. gone, new, same: findings, each as often as it stands. seconds: of all phases, before and after."""

    verdicts: tuple[str, str]
    gone: tuple[Told, ...]
    new: tuple[Told, ...]
    same: tuple[Told, ...]
    opened: tuple[str, ...]
    closed: tuple[str, ...]
    seconds: tuple[float, float]

    @property
    def differs(self) -> bool:
        """Whether anything but the time changed."""
        return self.verdicts[0] != self.verdicts[1] or bool(self.gone or self.new or self.opened or self.closed)


@click.command("diff")
@click.argument("before")
@click.argument("after")
@click.pass_context
def diff_command(context: click.Context, before: str, after: str) -> None:
    """Say what changed from one JSON report to another. Exit status: 0 nothing but times, 1 something, 2 no reports."""
    change = changed(_read(before), _read(after))
    click.echo("\n".join(readable(line) for line in told(change)))
    context.exit(int(change.differs))


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> Change:
    """Compare two reports, as read from JSON."""
    first, second = _findings(before), _findings(after)
    opened, closed = _questions(after) - _questions(before), _questions(before) - _questions(after)
    return Change(
        verdicts=(before["verdict"], after["verdict"]),
        gone=tuple((first - second).elements()),
        new=tuple((second - first).elements()),
        same=tuple((first & second).elements()),
        opened=tuple(opened.elements()),
        closed=tuple(closed.elements()),
        seconds=(float(before["timings"]["total"]), float(after["timings"]["total"])),
    )


def told(change: Change) -> Iterator[str]:
    """The change in lines: the verdict first."""
    first, second = change.verdicts
    yield f"{first} as before" if first == second else f"{first} -> {second}"
    for sign, findings in (("-", change.gone), ("+", change.new), (" ", change.same)):
        for finding in findings:
            yield from wrapped(str(finding), f"{sign} ", "    ")
    for sign, questions in (("-", change.closed), ("+", change.opened)):
        for question in questions:
            yield from wrapped(f"open: {question}", f"{sign} ", "    ")
    counts = ((len(change.gone), "gone"), (len(change.new), "new"), (len(change.same), "the same"))
    yield "; ".join(f"{counted(count, 'finding')} {what}" for count, what in counts)
    yield f"{change.seconds[0]:.1f} s before, {change.seconds[1]:.1f} s after"


def _findings(report: Mapping[str, Any]) -> Counter[Told]:
    return Counter(Told(str(one["code"]), str(one["where"]), str(one["title"])) for one in report["findings"])


def _questions(report: Mapping[str, Any]) -> Counter[str]:
    return Counter(f"{item['where']}: {item['reason']}" for item in report["unknown"])


def _read(path: str) -> Mapping[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise UsageError(path, f"the report cannot be read: {reason}", "is the path right?") from None
    except (ValueError, RecursionError):
        raise UsageError(path, "it is no JSON report", "make one with --output json:FILE") from None
    if not isinstance(report, dict) or report.get("version") != VERSION or report.get("verdict") not in VERDICTS:
        raise UsageError(path, f"it is no JSON report of version {VERSION}", "make one with --output json:FILE")
    try:
        changed(report, report)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UsageError(path, "it lacks what a JSON report has", "make one with --output json:FILE") from None
    return report
