"""Bugs as the programs that people wrote, recorded: FOLDER/programs/NAME.py beside the pair NAME, with _ for -.

Such a file has build_single, build_right and build, which has the bug. What is said of the bug stands in the pair; the
docstring of the program has, one a line below its title,

    world 2              how many ranks there are
    tensors real         where it must be recorded on real tensors
    expect CODE or CODE  where the program's finding must be another one than the pair's
    place NAME or NAME   what the first finding may name besides the lines of the program that end in `# place`
    missed WORD ...      as in a pair
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from verdict.backends.pairs.pair import Lines, Pair
from verdict.backends.pairs.read import load as load_pair
from verdict.backends.pairs.read import names as names_of_pairs
from verdict.backends.torch.assemble import plan_of
from verdict.backends.torch.launch import UNCONFIRMED, Target, record_all
from verdict.errors import PlanFileError
from verdict.graph import Plan

FUNCTIONS = ("build_single", "build_right", "build")
MARK = "# place"
SUFFIX = ".py"


@dataclass(frozen=True)
class Recorded:
    """A program. pair: what is said of its bug. words: those of its docstring. source: its lines."""

    pair: Pair
    path: Path
    words: Mapping[str, str]
    source: Lines

    @property
    def name(self) -> str:
        """That of the pair, as a file."""
        return self.pair.name + SUFFIX

    @property
    def recorded(self) -> bool:
        """It is."""
        return True

    @property
    def title(self) -> str:
        """What went wrong, in one line."""
        return self.pair.title

    @property
    def sources(self) -> Sequence[str]:
        """Where it was reported."""
        return self.pair.sources

    @property
    def category(self) -> str:
        """What kind of bug it is."""
        return self.pair.category

    @property
    def parallelism(self) -> str:
        """Where it occurs."""
        return self.pair.parallelism

    @property
    def expected(self) -> Sequence[str]:
        """The codes of the findings that belong to it."""
        return (self.words["expect"],) if "expect" in self.words else self.pair.expected

    @property
    def place(self) -> Sequence[str]:
        """The names and lines of which the first finding must name one."""
        names = self.words.get("place", "").split(" or ")
        lines = (f"{self.path.name}:{k}" for k, line in enumerate(self.source, 1) if line.endswith(MARK))
        return (*filter(None, names), *lines)

    @property
    def ranks(self) -> Sequence[int]:
        """Any."""
        return ()

    @property
    def missed(self) -> Sequence[str]:
        """What is known not to be reached."""
        return self.words.get("missed", "").split()

    @property
    def denied(self) -> Sequence[str]:
        """The assumptions that are denied."""
        return self.pair.denied

    def twin(self) -> tuple[Plan, Plan]:
        """The single-device program and the right parallel program. Raises UsageError where one cannot be recorded."""
        single, right, _ = self._plans()
        return single, right

    def plans(self) -> tuple[Plan, Plan]:
        """The single-device program and the parallel program with the bug."""
        single, _, wrong = self._plans()
        return single, wrong

    def _plans(self) -> tuple[Plan, ...]:
        return _record(str(self.path), int(self.words["world"]), self.words.get("tensors", "fake"))


@cache
def _record(path: str, world: int, tensors: str) -> tuple[Plan, ...]:
    programs = [(Target(path, name), 1 if name == FUNCTIONS[0] else world) for name in FUNCTIONS]
    recorded = record_all(programs, tensors, limits=UNCONFIRMED)
    pairs = zip(programs, recorded, strict=True)
    return tuple(plan_of(found.traces, ":".join(target)) for (target, _), found in pairs)


def names(folder: Path) -> list[str]:
    """The names of all pairs in a folder, and of all programs where there is torch to record them."""
    found = names_of_pairs(folder)
    programs = [name + SUFFIX for name in found if _path(folder, name).is_file()]
    return [*found, *(programs if find_spec("torch") else ())]


def load(folder: Path, name: str) -> Pair | Recorded:
    """The pair or the program of this name. Raises UsageError or PlanFileError where it cannot be read."""
    pair = load_pair(folder, name.removesuffix(SUFFIX))
    if not name.endswith(SUFFIX):
        return pair
    path = _path(folder, pair.name)
    text = path.read_text()
    words = dict(_words(ast.get_docstring(ast.parse(text)) or ""))
    if not words.get("world", "").isdecimal():
        raise PlanFileError(str(path), "its docstring has no line `world N`")
    return Recorded(pair, path, words, tuple(text.splitlines()))


def _path(folder: Path, name: str) -> Path:
    return folder / "programs" / f"{name.replace('-', '_')}{SUFFIX}"


def _words(docstring: str) -> Iterator[tuple[str, str]]:
    for line in docstring.splitlines()[1:]:
        word, _, rest = line.partition(" ")
        if word in ("world", "tensors", "expect", "place", "missed"):
            yield word, rest
