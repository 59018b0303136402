"""A finding as lines: what and where, both sides, numbers, notes, help."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from verdict.outcome import Finding, Source
from verdict.report.colours import AMBER, BLUE, RED
from verdict.report.example import example_lines, number
from verdict.report.lines import WIDTH, counted, wrapped

SHOWN_VALUES = 6
"""How many elements that differ are listed; the rest is counted."""
SHOWN_LINES = 4
"""How many nodes of each side are listed; the rest is counted."""
SHOWN_NOTES = 6
"""How many notes are listed; the rest is counted."""


def finding_lines(finding: Finding, replicas: int, kind: str = "error", width: int = WIDTH) -> Iterator[Text]:
    """One finding.

    replicas: how many ranks each plan device stands for. kind: error, or note where it is none.

    width: of the page.
    """
    lines = wrapped(f"{kind}[{finding.code}]: {finding.title}", "", "  ", width)
    head = len(kind) + len(finding.code) + 2
    colour = RED if kind == "error" else AMBER
    yield Text.assemble((lines[0][:head], colour), lines[0][head:])
    yield from map(Text, lines[1:])
    yield from map(Text, _excerpt(finding.source, width))
    yield from map(Text, wrapped(f"at {finding.where}", "  ", "     ", width))
    extent = extent_of(finding, replicas)
    if extent:
        yield from map(Text, wrapped(extent, "     ", "     ", width))
    yield from _sides(finding, width)
    if finding.counterexample is not None:
        yield Text("")
        yield from example_lines(finding.counterexample, width)
        yield Text("")
    else:
        yield from _values(finding, width)
    for note in finding.notes[:SHOWN_NOTES]:
        yield from _labelled("note", "", note, width)
    if len(finding.notes) > SHOWN_NOTES:
        yield Text(f"  ... and {counted(len(finding.notes) - SHOWN_NOTES, 'more note')}")
    if finding.help:
        yield from _labelled("help", BLUE, finding.help, width)


def _excerpt(source: Source | None, width: int) -> Iterator[str]:
    """The line that is to blame as compilers show it, with a mark under where the call begins."""
    if source is None:
        return
    number = str(source.line)
    margin = " " * len(number)
    yield f"{margin}--> {source}"
    if source.text:
        text = source.text.expandtabs(1)
        indent = len(text) - len(text.lstrip())
        yield f"{number} |   {text[indent:]}"[:width]
        if indent < source.column < width:
            yield f"{margin} |   {' ' * (source.column - 1 - indent)}^"


def extent_of(finding: Finding, replicas: int) -> str:
    """At how many ranks and parts of the model it shows, and which part is shown; empty where nothing tells."""
    ranks, modules = len(finding.ranks) * replicas, [name for name in finding.modules if name]
    counts = []
    if ranks > 1:
        counts.append(f"{ranks} ranks")
    if len(modules) > 1:
        numbered = all(name[-1:].isdigit() for name in modules)
        counts.append(f"{len(modules)} {'layers' if numbered else 'parts of the model'}")
    if not counts:
        places = f"{finding.extent} places" if finding.extent > 1 and not finding.ranks else ""
        return f"in {modules[0]}" if modules else places
    shown = f"; shown: {modules[0]}" if modules else ""
    return " x ".join(counts) + shown


def _sides(finding: Finding, width: int) -> Iterator[Text]:
    if not finding.single and not finding.parallel:
        return
    yield Text("")
    for name, lines in (("single", finding.single), ("parallel", finding.parallel)):
        for k, line in enumerate(lines[:SHOWN_LINES]):
            label = name if k == 0 else ""
            yield from map(Text, wrapped(line, f"  {label:<10}", " " * 16, width))
        if len(lines) > SHOWN_LINES:
            yield Text(f"            ... and {counted(len(lines) - SHOWN_LINES, 'more node')}")


def _values(finding: Finding, width: int) -> Iterator[Text]:
    for value in finding.values[:SHOWN_VALUES]:
        index = ",".join(str(k) for k in value.index)
        text = f"{value.goal}[{index}]: single {number(value.single)}, parallel {number(value.parallel)}"
        yield from map(Text, wrapped(text, "  ", "    ", width))
    if len(finding.values) > SHOWN_VALUES:
        yield Text(f"  ... and {counted(len(finding.values) - SHOWN_VALUES, 'more element')}")


def _labelled(label: str, colour: str, text: str, width: int) -> Sequence[Text]:
    lines = wrapped(f"{label}: {text}", "  ", "        ", width)
    return [Text.assemble("  ", (label, colour), lines[0][2 + len(label) :]), *map(Text, lines[1:])]
