"""Report -> SARIF 2.1.0, which code hosts and editors show. The same from run to run."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from verdict.outcome import Finding, Source
from verdict.report.codes import CODES
from verdict.report.headline import headline
from verdict.report.report import Report, Verdict

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
OPEN, PROVED = "open-question", "proved"
OWN_RULES = {OPEN: "A question that is neither proved nor refuted.", PROVED: "Both plans compute the same."}


def to_sarif(report: Report) -> str:
    """One run."""
    return log_of([run_of(report)])


def log_of(runs: Sequence[Mapping[str, Any]]) -> str:
    """The text of a log with these runs."""
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": list(runs)}, indent=2) + "\n"


def lost_run(why: str, status: int) -> dict[str, Any]:
    """A run that ended without a report."""
    told = {"level": "error", "message": {"text": why}}
    ended = {"executionSuccessful": False, "exitCode": status, "toolExecutionNotifications": [told]}
    return {"tool": {"driver": {"name": "verdict", "rules": []}}, "invocations": [ended], "results": []}


def run_of(report: Report) -> dict[str, Any]:
    """Findings are errors, what is open is told as open, and a proof as a result that passes."""
    results = [
        *(_result(finding, "error", report) for finding in report.findings),
        *(_result(finding, "note", report) for finding in report.notes),
    ]
    for item in () if report.findings else report.unanswered:
        results.append(_said(OPEN, "open", f"{item.where}: {item.reason}", item.where, report))
    if report.verdict is Verdict.PROVED:
        results.append(_said(PROVED, "pass", headline(report), "", report))
    used = dict.fromkeys(result["ruleId"] for result in results)
    driver = {"name": "verdict", "rules": [_rule(code) for code in used]}
    return {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "exitCode": report.verdict.value}],
        "results": results,
        "properties": {"verdict": report.verdict.name, "assumptions": [a.name for a in report.assumptions]},
    }


def _rule(code: str) -> dict[str, Any]:
    if code in CODES:
        known = CODES[code]
        return {"id": code, "shortDescription": {"text": known.name}, "fullDescription": {"text": known.meaning},
                "help": {"text": known.repair}}  # fmt: skip
    return {"id": code, "shortDescription": {"text": OWN_RULES.get(code, code)}}


def _result(finding: Finding, level: str, report: Report) -> dict[str, Any]:
    told = [finding.title, *finding.notes, *([finding.help] if finding.help else [])]
    return {
        "ruleId": finding.code,
        "level": level,
        "message": {"text": "\n".join(told)},
        "locations": _places(finding.where, report, finding.source),
        "properties": {"ranks": list(finding.ranks), "modules": list(finding.modules), "extent": finding.extent},
    }


def _said(rule: str, kind: str, text: str, where: str, report: Report) -> dict[str, Any]:
    """A result that is no fault, which SARIF wants without a level."""
    return {"ruleId": rule, "kind": kind, "level": "none", "message": {"text": text},
            "locations": _places(where, report)}  # fmt: skip


def _places(where: str, report: Report, source: Source | None = None) -> list[dict[str, Any]]:
    """The plan, or the line of a program or text where it is known, and the node."""
    uri = source.file if source is not None else report.parallel.source
    file = {"artifactLocation": {"uri": quote(uri, errors="replace")}, **_region(source)}
    logical = {"logicalLocations": [{"fullyQualifiedName": where}]} if where else {}
    return [{"physicalLocation": file, **logical}]


def _region(source: Source | None) -> dict[str, Any]:
    if source is None or source.line < 1:
        return {}
    column = {"startColumn": source.column} if source.column else {}
    snippet = {"snippet": {"text": source.text}} if source.text else {}
    return {"region": {"startLine": source.line, **column, **snippet}}
