"""A counterexample as lines: the inputs, then both sides of every element that differs."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from rich.text import Text

from verdict.outcome import Block, Counterexample
from verdict.report.colours import RED
from verdict.report.lines import WIDTH, counted, wrapped

MOST_ROWS = 6
"""How many elements that differ a table lists; the rest is counted."""
MOST_ENTRIES = 8
"""How many elements other than zero are listed of what is no short vector; the rest is counted."""
MOST_IN_A_ROW = 8
"""The longest vector that is written in full, in one row."""
MOST_DIGITS = 12
"""Fractions of more characters are written as decimals of six digits."""
MARK = "*"


def example_lines(found: Counterexample, width: int = WIDTH) -> Iterator[Text]:
    """The inputs that are not zero, and a table of the elements that differ; vectors in full."""
    yield from (Text(line) for line in wrapped(f"numbers ({found.at}; {MARK} marks what differs)", "  ", "    ", width))
    for block in found.inputs:
        text = f"{block.label} ({shape_text(block.shape)}): {entries(block)}"
        yield from (Text(line) for line in wrapped(text, "    ", "      ", width))
    for group in groups(found):
        yield Text("")
        if all(map(_is_vector, group)):
            yield from _vectors(group, width)
        else:
            yield from _table(group, width)


def number(value: Fraction | float) -> str:
    """A number for people: exact, and shortened where it is long."""
    if isinstance(value, Fraction):
        text = str(value)
        return text if len(text) <= MOST_DIGITS else f"{float(value):.6g}"
    return f"{value:.6g}"


def groups(found: Counterexample) -> list[list[Block]]:
    """For each block of the single device, it and all that stand for it."""
    groups: list[list[Block]] = []
    for single, parallel in zip(found.single, found.parallel, strict=True):
        if groups and groups[-1][0] == single:
            groups[-1].append(parallel)
        else:
            groups.append([single, parallel])
    return groups


def _vectors(group: Sequence[Block], page: int) -> Iterator[Text]:
    """Each block in one row: the single device's first."""
    single, *others = group
    yield from (Text(line) for line in wrapped(f"{single.label} ({shape_text(single.shape)})", "    ", "      ", page))
    rows = [("single", [number(value) for value in single.values])]
    for block in others:
        marks = block.wrong or (False,) * len(block.values)
        marked = zip(block.values, marks, strict=True)
        rows.append((block.label, [number(value) + MARK * wrong for value, wrong in marked]))
    width = max(len(cell.rstrip(MARK)) for _, cells in rows for cell in cells) + 2
    label = max(len(name) for name, _ in rows)
    for name, cells in rows:
        line = Text(f"      {name:<{label}}")
        for cell in cells:
            _put(line, cell, width)
        yield line


def _table(group: Sequence[Block], page: int) -> Iterator[Text]:
    """One row for each element that differs somewhere, one column for each block."""
    single, *others = group
    rows = [k for k in range(len(single.values)) if any(block.wrong and block.wrong[k] for block in others)]
    heads = ["single", *(block.label for block in others)]
    cells = [
        [number(single.values[k]), *(number(b.values[k]) + MARK * (bool(b.wrong) and b.wrong[k]) for b in others)]
        for k in rows[:MOST_ROWS]
    ]
    names = [index_text(single.shape, k) for k in rows[:MOST_ROWS]]
    yield from (Text(line) for line in wrapped(f"{single.label} ({shape_text(single.shape)})", "    ", "      ", page))
    widths = [max(len(head), *(len(row[k].rstrip(MARK)) for row in cells)) + 3 for k, head in enumerate(heads)]
    label = max(map(len, names)) + 1
    for columns in _fitting(widths, page - 7 - label):
        yield Text(" " * (6 + label) + "".join(f"{heads[k]:>{widths[k]}}" for k in columns))
        for name, row in zip(names, cells, strict=True):
            line = Text(f"      {name:<{label}}")
            for k in columns:
                _put(line, row[k], widths[k])
            yield line
    if len(rows) > MOST_ROWS:
        yield Text(f"      ... and {counted(len(rows) - MOST_ROWS, 'more element')}")


def _fitting(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """The columns of a table in as many tables as fit the page below each other; the first column heads each."""
    columns = [0]
    for k in range(1, len(widths)):
        if len(columns) > 1 and sum(widths[c] for c in (*columns, k)) > room:
            yield columns
            columns = [0]
        columns.append(k)
    yield columns


def _put(line: Text, cell: str, width: int) -> None:
    """A number right-aligned, its mark behind it."""
    bare = cell.rstrip(MARK)
    if line.plain.endswith(MARK):
        width -= 1
    line.append(f"{bare:>{width}}", RED if bare != cell else "")
    line.append(cell[len(bare) :], RED)


def _is_vector(block: Block) -> bool:
    return sum(size > 1 for size in block.shape) <= 1 and len(block.values) <= MOST_IN_A_ROW


def entries(block: Block) -> str:
    """All elements of a short vector, else those that are not zero."""
    if _is_vector(block):
        return ", ".join(number(value) for value in block.values)
    shown = [(k, value) for k, value in enumerate(block.values) if value]
    text = ", ".join(f"{index_text(block.shape, k)} = {number(value)}" for k, value in shown[:MOST_ENTRIES])
    more = f", and {len(shown) - MOST_ENTRIES} more" if len(shown) > MOST_ENTRIES else ""
    zero = "all others 0" if shown else "all 0"
    return f"{text}{more}{', ' if shown else ''}{zero}" if len(shown) < len(block.values) else f"{text}{more}"


def index_text(shape: Sequence[int], flat: int) -> str:
    index: list[int] = []
    for size in reversed(shape):
        flat, rest = divmod(flat, size)
        index.append(rest)
    return "[" + ",".join(map(str, reversed(index))) + "]"


def shape_text(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "one number"
