"""Report -> JUnit XML: the pair of plans is one case. What is not proved never passes."""

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
    outcome, seconds = OUTCOMES[report.verdict], f"{measured.total:.3f}"
    counts = {"tests": "1", "failures": str(int(outcome == "failure")), "errors": str(int(outcome == "error"))}
    suites = ElementTree.Element("testsuites", {**counts, "time": seconds})
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "verdict", **counts, "skipped": "0", "time": seconds})
    name = readable(f"{report.parallel.source} against {report.single.source}")
    case = ElementTree.SubElement(suite, "testcase", {"classname": "verdict", "name": name, "time": seconds})
    if outcome:
        kind = report.findings[0].code if report.findings else "unknown"
        attributes = {"type": readable(kind), "message": readable(f"{report.verdict.name}: {headline(report)}")}
        ElementTree.SubElement(case, outcome, attributes).text = "\n".join(_told(report))
    trusted = ", ".join(assumption.name for assumption in report.assumptions)
    ElementTree.SubElement(case, "system-out").text = readable(f"taken on trust: {trusted or 'nothing'}")
    ElementTree.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suites, encoding="unicode") + "\n"


def _told(report: Report) -> list[str]:
    if report.findings:
        return [line for finding in report.findings for line in (*_lines(finding, report), "")]
    return [readable(f"unknown: {item.where}: {item.reason}") for item in report.unanswered]


def _lines(finding: Finding, report: Report) -> list[str]:
    return [readable(line.plain) for line in finding_lines(finding, report.parallel.replicas)]
