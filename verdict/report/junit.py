"""Report -> JUnit XML: the pair of plans is one case. What is not proved never passes."""

from collections.abc import Sequence
from xml.etree import ElementTree

from verdict.outcome import Finding
from verdict.report.finding import finding_lines
from verdict.report.headline import headline
from verdict.report.readable import readable
from verdict.report.report import Measured, Report, Verdict

OUTCOMES = {Verdict.PROVED: "", Verdict.REFUTED: "failure", Verdict.UNKNOWN: "error"}
"""The element that says how the case went. UNKNOWN is an error: `skipped` would be taken for a pass."""


def to_junit(report: Report, measured: Measured) -> str:
    """One suite with one case."""
    return suites_of([case_of(f"{report.parallel.source} against {report.single.source}", report, measured)])


def case_of(name: str, report: Report, measured: Measured) -> ElementTree.Element:
    """The case of one pair of plans."""
    outcome = OUTCOMES[report.verdict]
    case = ElementTree.Element("testcase", _attributes(name, measured.total))
    if outcome:
        kind = report.findings[0].code if report.findings else "unknown"
        attributes = {"type": readable(kind), "message": readable(f"{report.verdict.name}: {headline(report)}")}
        ElementTree.SubElement(case, outcome, attributes).text = "\n".join(_told(report))
    trusted = ", ".join(assumption.name for assumption in report.assumptions)
    ElementTree.SubElement(case, "system-out").text = readable(f"taken on trust: {trusted or 'nothing'}")
    return case


def lost_case(name: str, kind: str, why: str, seconds: float) -> ElementTree.Element:
    """The case of a pair of which there is no report: an error."""
    case = ElementTree.Element("testcase", _attributes(name, seconds))
    ElementTree.SubElement(case, "error", {"type": kind, "message": readable(why)}).text = readable(why)
    return case


def suites_of(cases: Sequence[ElementTree.Element]) -> str:
    """One suite with these cases."""
    seconds = f"{sum(float(case.attrib['time']) for case in cases):.3f}"
    failures, errors = (sum(case.find(outcome) is not None for case in cases) for outcome in ("failure", "error"))
    counts = {"tests": f"{len(cases)}", "failures": f"{failures}", "errors": f"{errors}"}
    suites = ElementTree.Element("testsuites", {**counts, "time": seconds})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "verdict", **counts, "skipped": "0", "time": seconds})
    suite.extend(cases)
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _attributes(name: str, seconds: float) -> dict[str, str]:
    return {"classname": "verdict", "name": readable(name), "time": f"{seconds:.3f}"}


def _told(report: Report) -> list[str]:
    if report.findings:
        return [line for finding in report.findings for line in (*_lines(finding, report), "")]
    return [readable(f"unknown[{item.code}]: {item.where}: {item.reason}") for item in report.unanswered]


def _lines(finding: Finding, report: Report) -> list[str]:
    return [readable(line.plain) for line in finding_lines(finding, report.parallel.replicas)]
