"""Questions as tasks of an executor: some of one campaign each, whose lines and failures come back as values."""

import sys
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from scripts.campaigns.apart import Asker
from scripts.campaigns.lines import BLOCK, Book, Line
from scripts.campaigns.makers import SECONDS, maker
from scripts.campaigns.truth import one_thread
from scripts.campaigns.ways import SECONDS as EACH_WAY
from verdict.batches.executor import Executor
from verdict.outcome import Unknown

MOST = 8 * BLOCK
"""So many questions a task has at most: what a campaign computes once it computes once a task."""
ROUND = 64 * MOST
"""So many questions are given out before it is looked how many had an answer."""
LONGEST = 24 * 3600.0


class Some(NamedTuple):
    """Questions of one campaign. families, kinds: of plans. until: by the clock, in seconds since 1970. ways: further
    ones in which each is asked.
    """

    campaign: str
    seed: int
    numbers: tuple[int, ...]
    families: tuple[str, ...]
    kinds: tuple[str, ...]
    until: float
    ways: tuple[str, ...] = ()


class Answers(NamedTuple):
    """Lines, in the order of the questions, and the files of what failed, by their paths."""

    lines: tuple[Line, ...]
    files: Mapping[str, bytes]


def ask_some(some: Some) -> Answers:
    """Ask the questions here, in a process of their own."""
    one_thread()
    with TemporaryDirectory(prefix="verdict-campaign-") as name:
        out = Path(name)
        make = maker(some.campaign, some.seed, some.families, some.kinds, some.ways)
        seconds = SECONDS[some.campaign] + len(some.ways) * EACH_WAY
        asker = Asker(some.campaign, make, some.seed, out, seconds)
        try:
            asked = (asker.ask(number) for number in some.numbers if time.time() < some.until)
            lines = tuple(line for line in asked if line is not None)
        finally:
            asker.close()
        files = {str(path.relative_to(out)): path.read_bytes() for path in out.glob("failures/*/*") if path.is_file()}
        return Answers(lines, files)


def ask_all(executor: Executor, first: Some, out: Path, counts: Mapping[str, int]) -> list[Line]:
    """The lines of so many questions of each campaign. first: of whom all but campaign and numbers is taken."""
    book = Book(out / "lines.csv")
    fresh = {name: _fresh(book, name, first.seed) for name in counts}
    while time.time() < first.until:
        parts = [(name, part) for name in counts for part in _parts(fresh[name], _left(book, name, counts[name]))]
        tasks = [first._replace(campaign=name, numbers=part) for name, part in parts]
        if not tasks:
            break
        executor(tasks, ask_some, lambda place, found, tasks=tasks: _keep(book, out, tasks[place], found), LONGEST)
    return book.lines


def _fresh(book: Book, name: str, seed: int) -> Iterator[int]:
    """The numbers of the questions that were not answered before."""
    return (number for number in range(sys.maxsize) if not book.has(name, seed, number))


def _left(book: Book, name: str, count: int) -> int:
    return min(ROUND, count - sum(line.campaign == name for line in book.lines))


def _parts(numbers: Iterator[int], count: int) -> Iterator[tuple[int, ...]]:
    while count > 0:
        yield tuple(islice(numbers, min(count, MOST)))
        count -= MOST


def _keep(book: Book, out: Path, some: Some, found: Answers | Unknown) -> None:
    """Write what came of a task; of one that was lost, that it was."""
    if isinstance(found, Unknown):
        found = Answers(tuple(_lost(some, number, found.reason) for number in some.numbers), {})
    for line in found.lines:
        book.add(line)
    for name, content in found.files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _lost(some: Some, number: int, why: str) -> Line:
    return Line(some.campaign, some.seed, number, "", "", "unchecked", "", "", why, "", "", 0.0)
