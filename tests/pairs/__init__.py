"""Bug pairs: small generated plans with an edit in each, and what must be said of them.

A file has a comment, then `expect CODE` for each finding (`expect note CODE` for a note beside the verdict), `says
TEXT` that a title holds, `model` and `sizes` for the generator (`single` changes sizes of the single-device plan),
and a unified diff of the parallel plan's text, whose hunks are found by their lines alone.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from backends.generator import Sizes, generate
from backends.text import read, write

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Pair:
    """One file. hunks: the lines before and after each edit."""

    name: str
    expected: tuple[str, ...]
    notes: tuple[str, ...]
    says: tuple[str, ...]
    model: str
    sizes: tuple[tuple[str, int], ...]
    single: tuple[tuple[str, int], ...]
    hunks: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]

    def plans(self):
        """The single-device plan, and the parallel plan with the edit in it."""
        lines = list(text(self.model, self.sizes))
        place = 0
        for before, after in self.hunks:
            place = _find(lines, before, place)
            lines[place : place + len(before)] = after
            place += len(after)
        single = generate(self.model, Sizes(**dict((*self.sizes, *self.single))))[0]
        return single, read("\n".join(lines).encode(), self.name)

    def twin(self):
        """The two plans without the edit."""
        return generate(self.model, Sizes(**dict(self.sizes)))


@cache
def text(model, sizes):
    """The lines of the right parallel plan."""
    return tuple(write(generate(model, Sizes(**dict(sizes)))[1]).split("\n"))


def load(name):
    """The pair of a file."""
    found = {"expect": [], "says": [], "model": [""], "sizes": [""], "single": [""]}
    hunks = []
    for line in (FOLDER / f"{name}.pair").read_text().splitlines():
        if line.startswith("@@"):
            hunks.append(([], []))
        elif hunks:
            for side, marks in zip(hunks[-1], (" -", " +"), strict=True):
                if line[:1] in marks:
                    side.append(line[1:])
        elif line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            found[word].append(rest)
    notes = [code.removeprefix("note ") for code in found["expect"] if code.startswith("note ")]
    return Pair(
        name, tuple(code for code in found["expect"] if not code.startswith("note ")), tuple(notes),
        tuple(found["says"]), found["model"][-1], _sizes(found["sizes"][-1]), _sizes(found["single"][-1]),
        tuple((tuple(before), tuple(after)) for before, after in hunks),
    )  # fmt: skip


def names():
    """All pairs."""
    return sorted(path.stem for path in FOLDER.glob("*.pair"))


def _sizes(words):
    return tuple((name, int(size)) for name, _, size in (word.partition("=") for word in words.split()))


def _find(lines, wanted, start):
    for place in range(start, len(lines) - len(wanted) + 1):
        if tuple(lines[place : place + len(wanted)]) == wanted:
            return place
    raise LookupError(f"the plan has no lines {wanted}")
