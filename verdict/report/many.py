"""Many reports as one: a table, one log or one suite. What could not be asked is never left out, and never passes."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from verdict.report.github import to_github
from verdict.report.headline import headline
from verdict.report.json import as_data, measured_data
from verdict.report.junit import case_of, lost_case, suites_of
from verdict.report.lines import wrapped
from verdict.report.outputs import rendered
from verdict.report.readable import readable
from verdict.report.report import Measured, Report
from verdict.report.sarif import log_of, lost_run, run_of

VERSION = 1
"""The version of the JSON form of many reports."""


class Standing(Enum):
    """How one pair stands. The value is the exit status that it has alone; the worst is the last one here."""

    PROVED = 0
    UNKNOWN = 3
    REFUTED = 1
    REFUSED = 2
    FAILED = 4


WORST = {standing: place for place, standing in enumerate(Standing)}


class Case(NamedTuple):
    """A pair of plans, or a program, and what is said of it.

    number: its place in the whole list, from 0. report: None where there is none, and `why` says so. data: the report
    and what was measured, as plain data. seconds: it took, without the recording of programs. depends: of a program,
    what recordings depend on that are kept, or were.
    """

    number: int
    name: str
    standing: Standing
    why: str
    report: Report | None
    measured: Measured
    depends: tuple[dict[str, Any], ...] = ()

    @property
    def data(self) -> dict[str, Any]:
        """The case as plain data."""
        report = None if self.report is None else {**as_data(self.report), **measured_data(self.measured)}
        return {"number": self.number, "name": self.name, "verdict": self.standing.name, "headline": self.why,
                "seconds": round(self.measured.total, 3), "report": report,
                "recordings": list(self.depends)}  # fmt: skip


class Header(NamedTuple):
    """Of a list that was worked through, whole or in shards.

    fingerprint: of all that was asked. length: of the whole list. shard: which part (from 1) of how many. unused:
    denied assumptions that no plan of this part knows.
    """

    fingerprint: str
    length: int
    shard: tuple[int, int]
    unused: tuple[str, ...]


def answered(number: int, name: str, report: Report, measured: Measured) -> Case:
    """The case of a pair that was decided."""
    return Case(number, name, Standing[report.verdict.name], headline(report), report, measured)


def worst(standings: Iterable[str]) -> int:
    """The exit status of the worst of these."""
    return max((Standing[name] for name in standings), key=WORST.__getitem__, default=Standing.UNKNOWN).value


def many_data(header: Header, entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Many cases as plain data, in the order of the list; all of them, or those of one shard."""
    counts = Counter(entry["verdict"] for entry in entries)
    return {
        "version": VERSION,
        "list": {"fingerprint": header.fingerprint, "length": header.length},
        "shard": dict(zip(("part", "of"), header.shard, strict=True)),
        "unused_assumptions": list(header.unused),
        "counts": {standing.name: counts[standing.name] for standing in Standing},
        "cases": sorted(entries, key=lambda entry: entry["number"]),
    }


def to_text(data: dict[str, Any]) -> str:
    """That data as JSON text."""
    return json.dumps(data, indent=2) + "\n"


def table(data: dict[str, Any]) -> str:
    """One line for each case, with the cause below what is not proved; then how many there are of each."""
    lines = [f"{'verdict':<9}{'seconds':>8}  what"]
    for entry in data["cases"]:
        lines.append(f"{entry['verdict']:<9}{entry['seconds']:>8.1f}  {entry['name']}")
        if entry["verdict"] != Standing.PROVED.name:
            lines += wrapped(entry["headline"].strip().splitlines()[-1], " " * 19, " " * 21)
    return "".join(f"{readable(line)}\n" for line in [*lines, counts_line(data)])


def counts_line(data: dict[str, Any]) -> str:
    """How many cases there are of each standing."""
    counts = ", ".join(f"{count} {name}" for name, count in data["counts"].items() if count)
    part, of = data["shard"]["part"], data["shard"]["of"]
    shard = f" (shard {part} of {of}, {data['list']['length']} in all)" if of > 1 else ""
    return f"{len(data['cases'])} checked{shard}: {counts or 'nothing'}"


def _text(header: Header, cases: Sequence[Case]) -> str:
    """The whole report of each case that is not proved, then the table."""
    told = [
        f"== {readable(case.name)} ==\n{rendered('text', case.report, case.measured)}\n"
        for case in cases
        if case.report is not None and case.standing is not Standing.PROVED
    ]
    return "".join(told) + table(many_data(header, [case.data for case in cases]))


def _json(header: Header, cases: Sequence[Case]) -> str:
    return to_text(many_data(header, [case.data for case in cases]))


def _junit(_: Header, cases: Sequence[Case]) -> str:
    return suites_of([_element(case) for case in cases])


def _element(case: Case) -> Element:
    if case.report is None:
        return lost_case(case.name, case.standing.name.lower(), case.why, case.measured.total)
    return case_of(case.name, case.report, case.measured)


def _sarif(_: Header, cases: Sequence[Case]) -> str:
    """A run for each case, of a category of its own: code hosts take no two runs of one."""
    return log_of([{**_run(case), "automationDetails": {"id": f"verdict/{case.name}/"}} for case in cases])


def _run(case: Case) -> dict[str, Any]:
    return lost_run(case.why, case.standing.value) if case.report is None else run_of(case.report)


def _github(_: Header, cases: Sequence[Case]) -> str:
    return "".join(_annotations(case) for case in cases)


def _annotations(case: Case) -> str:
    if case.report is not None:
        return to_github(case.report)
    told = readable(f"{case.name}: {case.why}").replace("%", "%25")
    return f"::error title={case.standing.name}::{told}\n"


FORMS_OF_MANY: dict[str, Callable[[Header, Sequence[Case]], str]] = {
    "text": _text,
    "json": _json,
    "sarif": _sarif,
    "junit": _junit,
    "github": _github,
}
"""How many reports become the text of one file."""
