"""Report -> commands of GitHub's workflows, which its pages show as annotations of the plan file."""

from collections.abc import Iterator

from verdict.outcome import Source
from verdict.report.headline import headline
from verdict.report.readable import readable
from verdict.report.report import Report, Verdict

NEW_LINE = "%0A"


def to_github(report: Report) -> str:
    """One line for each finding, note and open question; one for a proof."""
    return "".join(f"{line}\n" for line in _lines(report))


def _lines(report: Report) -> Iterator[str]:
    source = report.parallel.source
    for level, findings in (("error", report.findings), ("notice", report.notes)):
        for finding in findings:
            told = [f"{finding.title} (at {finding.where})", *finding.notes]
            if finding.help:
                told.append(f"help: {finding.help}")
            yield _command(level, finding.source or source, finding.code, told)
    for item in () if report.findings else report.unanswered:
        yield _command("warning", source, item.code, [f"{item.where}: {item.reason}"])
    if report.verdict is Verdict.PROVED:
        yield _command("notice", source, report.verdict.name, [headline(report)])


def _command(level: str, source: Source | str, title: str, lines: list[str]) -> str:
    file = source if isinstance(source, str) else source.file
    at = "" if isinstance(source, str) else f",line={source.line}" + (f",col={source.column}" if source.column else "")
    file, name = (_data(text).replace(":", "%3A").replace(",", "%2C") for text in (file, title))
    return f"::{level} file={file}{at},title={name}::{NEW_LINE.join(map(_data, lines))}"


def _data(text: str) -> str:
    return readable(text).replace("%", "%25")
