"""Plan files: the kinds that can be read, recognised by content, and the one that can be written.

The rooms beside this file are the only ones that know a plan format. None of them runs anything that it finds in
a file. A kind is one line of `KINDS`; the first that recognises the (unpacked) content reads it.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from verdict.backends.apart import abandon, apart, begin, finish
from verdict.backends.content import Content
from verdict.backends.text import admit, write
from verdict.backends.text.packing import MOST_BYTES, PACKINGS, packing_of, unpack
from verdict.backends.text.plain import read_plain, write_plain
from verdict.counting import Percent, Progress, uncounted, unheard
from verdict.errors import PlanFileError, UsageError
from verdict.graph import Plan

READER_BYTES = 6 << 30
"""The most memory that reading one file may take. The largest real plan takes 1 GiB."""
MOST_WORDS = 600
"""The most characters of what a message says of a file."""
HEAD = 1 << 16
"""How many bytes of the unpacked content a kind may look at to recognise it."""


class Kind(NamedTuple):
    """A kind of plan file: a name, whether a file that begins like this is one, and how to read it.

    read: of the unpacked content, what the file is called, and who is told how much of it is read.
    """

    name: str
    recognises: Callable[[bytes], bool]
    read: Callable[[Content, str, Percent], Plan]


def _is_nnscaler(head: bytes) -> bool:
    from verdict.backends import nnscaler  # noqa: PLC0415  (read only where a file may be of this kind)

    return nnscaler.recognises(head)


def _parse_nnscaler(content: Content, source: str, _: Percent) -> Plan:
    from verdict.backends import nnscaler  # noqa: PLC0415

    return nnscaler.parse(content, source)


def _admit(content: Content, source: str, told: Percent) -> Plan:
    return admit(content.file.read(), source, told)


def _read_plain(content: Content, source: str, _: Percent) -> Plan:
    return read_plain(content.file.read(), source)


KINDS = (
    Kind("Verdict's plan text", lambda head: head.startswith(b"verdict-plan"), _admit),
    Kind("nnScaler plan pickle", _is_nnscaler, _parse_nnscaler),
    Kind("plain-data pickle", lambda head: head.startswith(b"\x80"), _read_plain),
)


def load(path: str) -> Plan:
    """The plan in the file `path`, of any kind, compressed or not. Every failure is a PlanFileError.

    It is read in a process of its own, which may take READER_BYTES of memory.
    """
    return apart(partial(read_here, path), path, READER_BYTES)


def load_all(paths: Sequence[str], progress: Progress = uncounted) -> list[Plan]:
    """The plans in `paths`, in their order, read side by side. Raises the PlanFileError of the first that fails.

    progress: of the KiB of the files.
    """
    readings = [begin(partial(read_here, path), path, READER_BYTES) for path in paths]
    sizes = [-(-_size(path) // 1024) for path in paths]
    plans: list[Plan] = []

    def told(percent: int) -> None:
        done = sum(sizes[: len(plans)]) + sizes[len(plans)] * percent // 100
        progress(done, sum(sizes), "KiB")

    try:
        while len(plans) < len(readings):
            told(0)
            plans.append(finish(readings[len(plans)], told))
        progress(sum(sizes), sum(sizes), "KiB")
    except BaseException:
        for reading in readings[len(plans) + 1 :]:
            abandon(reading)
        raise
    return plans


def read_here(path: str, told: Percent = unheard) -> Plan:
    """`load` in this very process: what a hostile file makes of its memory, or its C stack, is ours then."""
    content = Content.of(unpack(_bytes(path), path))
    if not content.size:
        raise PlanFileError(path, "the file is empty")
    head = content.head(HEAD)
    for kind in KINDS:
        if kind.recognises(head):
            return _told_briefly(kind, content, path, told)
    known = ", ".join(kind.name for kind in KINDS)
    packed = ", ".join(packing.name for packing in PACKINGS)
    raise PlanFileError(path, f"not a plan: it begins with {head[:12]!r}", f"known: {known}; each also as {packed}")


def _told_briefly(kind: Kind, content: Content, path: str, told: Percent) -> Plan:
    """What the kind reads; what it quotes from the file in a message is kept to one short line."""
    try:
        return kind.read(content, path, told)
    except PlanFileError as error:
        problem = "".join(letter if letter.isprintable() else "?" for letter in error.problem)
        if len(problem) > MOST_WORDS:
            problem = f"{problem[: MOST_WORDS // 2]} ... {problem[-MOST_WORDS // 2 :]}"
        raise PlanFileError(error.where, problem, error.help) from None


def save(plan: Plan, path: str, plain: bool = False) -> None:
    """Write `plan` to `path` as text, or as plain data; compressed where the path ends in .xz, .gz or .zst."""
    data = write_plain(plan) if plain else write(plan).encode()
    packing = packing_of(Path(path).suffix)
    try:
        Path(path).write_bytes(packing.pack(data) if packing else data)
    except OSError as error:
        raise UsageError(path, f"the file cannot be written: {_reason(error)}") from None


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise PlanFileError(path, f"the file cannot be read: {_reason(error)}", "is the path right?") from None
    if len(data) > MOST_BYTES:
        raise PlanFileError(path, f"the file has more than {MOST_BYTES} bytes")
    return data


def _size(path: str) -> int:
    """Bytes of a file; 0 where that cannot be told, as whoever reads it says why."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return str(error)
