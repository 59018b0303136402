"""What a list asks: pairs of plan files and recorded programs, each with its settings. Values that can be sent."""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.errors import UsageError
from verdict.limits import begin
from verdict.options import Options, SolverOptions

AUTO, FAKE, REAL = "auto", "fake", "real"
"""What a program is recorded on: tensors without data, real ones, or these where there is no other way."""


class Pair(NamedTuple):
    """Two plan files."""

    single: str
    parallel: str

    def __str__(self) -> str:
        return f"{self.parallel} against {self.single}"


class Program(NamedTuple):
    """A PyTorch program that is recorded. single: its single-device program, "" for `build_single` of the same file.

    tensors: what it is recorded on. confirm: whether it is run, too.
    """

    program: str
    world: int
    single: str = ""
    tensors: str = AUTO
    confirm: bool = True

    def __str__(self) -> str:
        against = f" against {self.single}" if self.single else ""
        return f"{self.program} on {self.world} rank{'s' * (self.world > 1)}{against}"


class Settings(NamedTuple):
    """Of one question; those of the command line that the verdict can depend on. time_limit: seconds for the pair."""

    assume: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    timeout: float = 30.0
    time_limit: float = 1800.0
    seed: int = 0
    exhaustive: bool = False

    def options(self, memory_mib: int | None) -> Options:
        """The options of a run that begins now, in one process."""
        return Options(
            exhaustive=self.exhaustive,
            assume=frozenset(self.assume),
            denied=frozenset(self.denied),
            solver=SolverOptions(timeout=self.timeout, seed=self.seed),
            limits=replace(begin(self.time_limit, memory_mib), memory_mib=memory_mib),
            attempts=None,
        )


class Question(NamedTuple):
    """One of a list. number: its place there, from 0. name: what reports call it."""

    number: int
    name: str
    asked: Pair | Program
    settings: Settings


def numbered(where: str, asked: Sequence[tuple[str, Pair | Program, Settings]]) -> tuple[Question, ...]:
    """The questions of a list; those without a name are called by what they ask. Raises UsageError where two have one
    name, or where there are none.
    """
    questions = tuple(Question(at, name or str(what), what, said) for at, (name, what, said) in enumerate(asked))
    if not questions:
        raise UsageError(where, "it lists no pairs and no programs", "see docs/ci.md")
    name, times = Counter(question.name for question in questions).most_common(1)[0]
    if times > 1:
        raise UsageError(where, f"{name} is listed {times} times", "give each a name of its own, or list it once")
    return questions


def shard(questions: Sequence[Question], part: int, of: int) -> tuple[Question, ...]:
    """The part (from 1) of so many: every `of`-th question."""
    return tuple(questions[part - 1 :: of])


def fingerprint(questions: Sequence[Question], version: str) -> str:
    """What differs where anything else is asked, or by another version of Verdict."""
    return hashlib.sha256(json.dumps([version, questions]).encode()).hexdigest()
