"""Report -> one HTML page that needs no other file and runs no script.

The page is a tree of elements, so that nothing of a plan is ever taken for markup.
"""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, tostring

from verdict.outcome import Block, Counterexample, Finding
from verdict.report.drawing import grid, nodes, schedule
from verdict.report.elements import add
from verdict.report.example import entries, groups, index_text, number, shape_text
from verdict.report.finding import extent_of
from verdict.report.headline import headline
from verdict.report.lines import counted
from verdict.report.page_style import STYLE
from verdict.report.picture import Picture
from verdict.report.report import Measured, Report, Side
from verdict.report.statistics import statistics

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
MOST_ROWS = 64
"""How many elements that differ a table of the page lists; the rest is counted."""


def to_html(report: Report, measured: Measured) -> str:
    """Verdict and cause first, then each finding, then what it rests on, folded."""
    page = Element("html", {"lang": "en"})
    head = add(page, "head")
    add(head, "meta", charset="utf-8")
    add(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    add(head, "meta", **{"http-equiv": "Content-Security-Policy", "content": POLICY})
    add(head, "title", f"{report.verdict.name}: {report.parallel.source}")
    add(head, "style").text = STYLE
    main = add(add(page, "body"), "main")
    _head(main, report)
    pictures = {picture.finding: picture for picture in report.pictures}
    for k, finding in enumerate(report.findings):
        _finding(main, finding, "error", report, pictures.get(k))
    for finding in report.notes:
        _finding(main, finding, "note", report)
    _open(main, report)
    _table(main, "The plans", ["", "single", "parallel"], _sizes(report.single, report.parallel))
    _trust(main, report)
    _statistics(main, report, measured)
    return "<!doctype html>\n" + tostring(page, encoding="unicode", method="html") + "\n"


def _head(main: Element, report: Report) -> None:
    header = add(main, "header", **{"class": report.verdict.name.lower()})
    add(header, "h1", report.verdict.name)
    if report.findings:
        cause = add(header, "p", **{"class": "cause"})
        add(cause, "code", report.findings[0].code)
        add(cause, "span", f" {report.findings[0].title}")
    add(header, "p", headline(report))


def _finding(main: Element, finding: Finding, kind: str, report: Report, picture: Picture | None = None) -> None:
    section = add(main, "section", **{"class": kind})
    title = add(section, "h2")
    add(title, "code", f"{kind}[{finding.code}]")
    add(title, "span", f" {finding.title}")
    extent = extent_of(finding, report.parallel.replicas)
    add(section, "p", f"at {finding.where}" + (f" — {extent}" if extent else ""))
    if finding.source is not None:
        add(section, "h3", str(finding.source))
        if finding.source.text:
            add(add(section, "pre", **{"class": "nodes"}), "code", finding.source.text.strip())
    for name, lines in (("single", finding.single), ("parallel", finding.parallel)):
        if lines:
            add(section, "h3", name)
            block = add(section, "ol", **{"class": "nodes"})
            for line in lines:
                add(add(block, "li"), "code", line)
    if finding.counterexample is not None:
        _numbers(section, finding.counterexample)
    elif finding.values:
        rows = [
            [f"{value.goal}[{','.join(map(str, value.index))}]", number(value.single), number(value.parallel)]
            for value in finding.values
        ]
        _table(section, "What differs", ["element", "single", "parallel"], rows)
    grid(section, finding, report.parallel)
    if picture is not None:
        schedule(section, picture)
        nodes(section, picture)
    for note in finding.notes:
        add(section, "p", f"note: {note}", **{"class": "note"})
    if finding.help:
        add(section, "p", f"help: {finding.help}", **{"class": "help"})


def _numbers(section: Element, found: Counterexample) -> None:
    """The inputs, and of each pair of blocks the elements that differ."""
    inputs = [[block.label, shape_text(block.shape), entries(block)] for block in found.inputs]
    _table(section, f"Numbers: {found.at}", ["input", "shape", "values"], inputs)
    for single, *others in groups(found):
        wrong = [k for k in range(len(single.values)) if any(_wrong(block, k) for block in others)]
        table = _table(section, f"{single.label} ({shape_text(single.shape)})", _heads(others), [])
        body = table[-1]
        for k in wrong[:MOST_ROWS]:
            row = add(body, "tr")
            add(row, "th", index_text(single.shape, k), scope="row")
            add(row, "td", number(single.values[k]))
            for block in others:
                add(row, "td", number(block.values[k]), **({"class": "wrong"} if _wrong(block, k) else {}))
        if len(wrong) > MOST_ROWS:
            add(section, "p", f"and {counted(len(wrong) - MOST_ROWS, 'more element')}")


def _wrong(block: Block, place: int) -> bool:
    return bool(block.wrong) and block.wrong[place]


def _heads(others: Sequence[Block]) -> list[str]:
    return ["element", "single", *(block.label for block in others)]


def _open(main: Element, report: Report) -> None:
    if not report.unanswered:
        return
    title = f"{counted(len(report.unanswered), 'question')} left open"
    section = _folded(main, f"{title} behind that") if report.findings else add(main, "section", **{"class": "open"})
    rows = [[item.code, item.where, item.reason] for item in report.unanswered]
    _table(section, title, ["code", "where", "why"], rows)


def _sizes(single: Side, parallel: Side) -> list[list[str]]:
    def row(side: Side) -> list[str]:
        mesh = " ".join(f"{axis}={size}" for axis, size in side.mesh)
        counts = (side.ranks, side.microbatches, side.nodes, side.weights)
        return [side.source, side.format, mesh, *map(str, counts)]

    names = ["file", "format", "mesh", "ranks", "microbatches", "nodes", "weights"]
    return [list(cells) for cells in zip(names, row(single), row(parallel), strict=True)]


def _trust(main: Element, report: Report) -> None:
    if report.assumptions:
        fold = _folded(main, f"Taken on trust: {counted(len(report.assumptions), 'assumption')}", open="")
        _table(fold, "", ["assumption", "what it says"], [[one.name, one.text] for one in report.assumptions])


def _statistics(main: Element, report: Report, measured: Measured) -> None:
    fold = _folded(main, f"Statistics: {measured.total:.1f} s, {measured.peak_memory_mib:.0f} MiB")
    for line in statistics(report):
        add(fold, "p", line)
    _table(fold, "Time", ["phase", "seconds"], [[name, f"{seconds:.2f}"] for name, seconds in measured.seconds])


def _folded(parent: Element, summary: str, **attributes: str) -> Element:
    details = add(parent, "details", **attributes)
    add(details, "summary", summary)
    return details


def _table(parent: Element, caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Element:
    """A table that scrolls by itself where the page is narrow; the first cell of each row names it."""
    table = add(add(parent, "figure", **{"class": "wide"}), "table")
    if caption:
        add(table, "caption", caption)
    head = add(add(table, "thead"), "tr")
    for name in heads:
        add(head, "th", name, scope="col")
    body = add(table, "tbody")
    for first, *others in rows:
        row = add(body, "tr")
        add(row, "th", first, scope="row")
        for cell in others:
            add(row, "td", cell)
    return table
