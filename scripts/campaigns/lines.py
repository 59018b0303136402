"""The lines of a campaign: a csv that can be continued, tables of what was asked, and folders for what was missed."""

import csv
import os
import platform
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from verdict.graph import Plan
from verdict.mutate.judge import CLASSES

CRASH, DISAGREE, NO_RULE, CONTRADICTION = "crash", "disagree", "no rule", "contradiction"
OUTCOMES = (*CLASSES, NO_RULE, DISAGREE, CONTRADICTION, CRASH)
"""What can become of a question. DISAGREE: the two oracles do, so that one of them is wrong. NO_RULE: it is unknown, as
the operator takes what its rule does not. CONTRADICTION: asked in another way it has another verdict.
"""
FAILURES = ("missed", "false alarm", DISAGREE, CONTRADICTION, CRASH)
"""What must not be."""
NONE = "nothing"
"""The kind of a question in which nothing was changed."""
BLOCK = 8
"""So many questions in a row are asked in one process: they may have the most of their work in common."""
MOST_BYTES = 12 << 30
SHRINKING = 120
"""Seconds of the processor in which a pair that failed is made small."""


class Line(NamedTuple):
    """One question and its answer. name: the family, operator or program; kind: of the fault. ways: what other ways of
    asking say, as JSON.
    """

    campaign: str
    seed: int
    number: int
    name: str
    kind: str
    outcome: str
    verdict: str
    truth: str
    reasons: str
    description: str
    detail: str
    seconds: float
    ways: str = ""


class Answer(NamedTuple):
    """What a campaign says of a question. files: of the pair, by name, to be written where it failed. pair: the plans
    that were asked about, where there are any. ways: what other ways of asking say of it, as JSON.
    """

    name: str
    kind: str
    outcome: str
    verdict: str
    truth: str
    reasons: str = ""
    description: str = ""
    detail: str = ""
    files: Callable[[], dict[str, str]] = dict
    pair: tuple[Plan, Plan] | None = None
    ways: str = ""


@dataclass(frozen=True)
class Campaign:
    """A name, and the answer to a question by its number; None where there is no such question.

    seconds: of the processor, for one question; what takes longer counts as unknown.
    """

    name: str
    ask: Callable[[int], Answer | None]
    seconds: float = 120
    close: Callable[[], None] = lambda: None


class TooLong(Exception):
    """A question took more of the processor than it may."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A limit of processor time, by an exception."""

    def alarm(signum: int, frame: object) -> None:
        raise TooLong

    signal.signal(signal.SIGPROF, alarm)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """A question that takes too much memory fails, and not the machine."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))


def asked(campaign: Campaign, seed: int, number: int, out: Path) -> Line | None:
    """The line of one question. A crash of ours is an answer, too."""
    started = time.perf_counter()
    try:
        with limited(campaign.seconds):
            found = campaign.ask(number)
    except TooLong:
        found = Answer("", "", "unknown", "TIMEOUT", "not run", f"more than {campaign.seconds} s")
    except Exception:
        told = traceback.format_exc().strip().splitlines()
        found = Answer("", "", CRASH, "CRASH", "not run", told[-1], "", " | ".join(told[-4:]))
    if found is None:
        return None
    spent = round(time.perf_counter() - started, 2)
    line = Line(
        campaign.name, seed, number, found.name, found.kind, found.outcome, found.verdict, found.truth,
        _short(found.reasons), _short(found.description), _short(found.detail), spent, found.ways,
    )  # fmt: skip
    if found.outcome in FAILURES:
        write_miss(line, found, out)
    return line


def _short(text: str) -> str:
    return text.replace("\n", " ")[:400]


def write_miss(line: Line, found: Answer, out: Path) -> None:
    """A folder with what was asked, and with what the truth is."""
    word = line.outcome.replace(" ", "-")
    folder = out / "failures" / f"{word}-{line.campaign}-{line.seed}-{line.number}"
    folder.mkdir(parents=True, exist_ok=True)
    told = [f"{field}: {value}" for field, value in zip(Line._fields, line, strict=True)]
    (folder / "truth.txt").write_text("\n".join(told) + "\n")
    try:
        with limited(SHRINKING):
            files = found.files()
    except Exception as error:
        files = {"error.txt": f"the pair could not be made small: {error!r}\n"}
    for name, text in files.items():
        (folder / name).write_text(text)


class Book:
    """The csv of all lines, which a later run goes on with."""

    def __init__(self, path: Path) -> None:
        self.lines: list[Line] = []
        if path.is_file():
            self.lines = _read(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("a", newline="")
        self._writer = csv.writer(self._file)
        if not self.lines:
            self._writer.writerow(Line._fields)
        self._done = {(line.campaign, line.seed, line.number) for line in self.lines}

    def has(self, campaign: str, seed: int, number: int) -> bool:
        """Whether a question was answered before."""
        return (campaign, seed, number) in self._done

    def add(self, line: Line) -> None:
        """Write a line at once."""
        self.lines.append(line)
        self._writer.writerow(line)
        self._file.flush()
        if line.outcome in FAILURES:
            print(f"{line.outcome}: {line}", file=sys.stderr, flush=True)


def _read(path: Path) -> list[Line]:
    with path.open(newline="") as file:
        return [_line(row) for row in csv.DictReader(file)]


def _line(row: dict[str, str]) -> Line:
    made = {**row, "seed": int(row["seed"]), "number": int(row["number"]), "seconds": float(row["seconds"])}
    return Line(**made)  # type: ignore[arg-type]


def table(lines: Sequence[Line], field: str) -> str:
    """Outcomes by one of the fields, with a line of all, as markdown."""
    used = [outcome for outcome in OUTCOMES if outcome in CLASSES or any(line.outcome == outcome for line in lines)]
    rows = [[field, "asked", *used]]
    for name in sorted({getattr(line, field) for line in lines}):
        rows.append([name, *_counts(used, (line for line in lines if getattr(line, field) == name))])
    rows.append(["all", *_counts(used, lines)])
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def _counts(used: Sequence[str], lines: Iterable[Line]) -> list[str]:
    found = Counter(line.outcome for line in lines)
    return [str(found.total()), *(str(found[outcome]) for outcome in used)]


def of_shards(out: Path, shards: Sequence[Path]) -> list[Line]:
    """The lines of all shards, which are also written to one file."""
    lines = [line for shard in shards for line in _read(shard / "lines.csv")]
    with (out / "lines.csv").open("w", newline="") as file:
        csv.writer(file).writerows([Line._fields, *lines])
    return lines


def figures(lines: Sequence[Line], seed: int, shard: str, cores: int, seconds: float) -> dict[str, Any]:
    """What was asked and what became of it, by campaign and by whether something was changed, and where."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for line in lines:
        counts = found.setdefault(line.campaign, {}).setdefault("right" if is_right(line) else "changed", {})
        counts[line.outcome] = counts.get(line.outcome, 0) + 1
    where = {
        "machine": platform.machine(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "system": platform.system(),
        "load": os.getloadavg()[0],
    }
    asked = {"questions": len(lines), "seed": seed, "shard": shard, "processes": cores, "seconds": round(seconds)}
    return {**asked, "machine": where, "outcomes": found}


def told(found: dict[str, Any]) -> str:
    """One line about what was asked and about the machine."""
    where = found["machine"]
    machine = f"{where['cores']} cores ({where['processor']}), load {where['load']:.1f}, Python {where['python']}"
    asked = f"{found['questions']} questions, seed {found['seed']}, shard {found['shard']}, {found['seconds']} s"
    return f"{asked} in {found['processes']} processes, {machine}, torch {where['torch']}"


def is_right(line: Line) -> bool:
    """Whether nothing was changed."""
    return line.kind == NONE or line.kind.endswith(f" {NONE}")


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")), "")
