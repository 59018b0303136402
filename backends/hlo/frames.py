"""Lines of the program that a module says it is of: its tables of files, functions, locations and stack frames.

What an instruction has of them is the number of a frame. Of its frame and those that called it, the innermost that is
no installed package is what its author wrote; where all are, it is the innermost.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_ROW = re.compile(r"(\d+) (.*)")
_NUMBER = re.compile(r"(\w+)=(\d+)")
_FRAME = re.compile(r"\bstack_frame_id=(\d+)")
_PACKAGES = ("/site-packages/", "/dist-packages/")
_MOST_CALLS = 1_000
"""How many callers of a frame are looked at: a table of a hostile file may go round in a circle."""


class Frame(NamedTuple):
    """A line of a file, which is part of a function. caller: the number of the frame that called it, 0 for none."""

    file: str
    line: int
    function: str
    caller: int


def frames_of(lines: Sequence[str]) -> Mapping[int, Frame]:
    """The frames that the tables of a module state. Those that refer to what is not there are left out."""
    tables: dict[str, dict[int, str]] = {name: {} for name in TABLES}
    current = ""
    for line in map(str.strip, lines):
        numbered = _ROW.fullmatch(line)
        if line in tables:
            current = line
        elif numbered is not None and current:
            tables[current][int(numbered[1])] = numbered[2]
    files, functions, locations, stack = tables.values()
    rows = {number: {key: int(value) for key, value in _NUMBER.findall(row)} for number, row in stack.items()}
    behind = any(row.get("parent_frame_id", 0) >= number for number, row in rows.items())
    found: dict[int, Frame] = {}
    for number, row in rows.items():
        at = {key: int(value) for key, value in _NUMBER.findall(locations.get(row.get("file_location_id", 0), ""))}
        file, function = files.get(at.get("file_name_id", 0)), functions.get(at.get("function_name_id", 0), '""')
        if file is not None and "line" in at:
            caller = row.get("parent_frame_id", 0) - behind  # XLA of 2026 writes one more than the number
            found[number] = Frame(file.strip('"'), at["line"], function.strip('"'), caller)
    return found


def with_place(metadata: str, frames: Mapping[int, Frame]) -> str:
    """What an instruction says of itself, with the line of its frame, as texts without tables have it."""
    named = _FRAME.search(metadata)
    called = list(_called(int(named[1]), frames)) if named is not None and "source_line=" not in metadata else []
    if not called:
        return metadata
    own = next((frame for frame in called if not any(part in frame.file for part in _PACKAGES)), called[0])
    place = f'source_file="{own.file}" source_line={own.line} source_function="{own.function}"'
    return f"{metadata.removesuffix('}')} {place}}}"


def _called(number: int, frames: Mapping[int, Frame]) -> Iterator[Frame]:
    """A frame, who called it, and so on."""
    for _ in range(_MOST_CALLS):
        frame = frames.get(number)
        if frame is None:
            return
        yield frame
        number = frame.caller
