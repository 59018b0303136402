"""Reading a pair file.

A file has a comment (its first line is the title), then

    expect CODE          for each finding; `expect note CODE` for a note beside the verdict; `expect CODE or CODE`
                         where either says what is wrong: a factor that stands in an attribute is a scale and a constant
    says TEXT            what a title holds
    place NAME or NAME   what the first finding must name: the tensor that a wrong node makes, or the weight; with
                         `on RANK ...` behind it, the ranks at which it must be
    missed WORD ...      what Verdict is known not to reach: proved (the right plan), refuted, code, place
    deny NAME            an assumption that is denied when the plans are looked at
    source URL           where the bug was reported; `category WORD`, `parallelism WORDS`
    reported-right       the plan that was reported as a bug is right; the edit breaks it

and the plans, in one of two forms.

Generated: `model` and `sizes` for the generator (`single` changes sizes of the single-device plan), then a unified
diff of the parallel plan's text, whose hunks are found by their lines alone.

Written: `plan single` and `plan parallel AXIS=SIZE ...`, and under each, indented, the lines of a plan in outline
(backends/pairs/outline.py). In the parallel plan a line with - in the first column is in the right plan only, one
with + in the plan with the bug only.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from verdict.backends.pairs.outline import Outline
from verdict.backends.pairs.pair import Choices, Hunk, Pair
from verdict.errors import PlanFileError, UsageError

SUFFIX = ".pair"
WORDS = frozenset(
    {
        "expect",
        "place",
        "missed",
        "deny",
        "says",
        "source",
        "category",
        "parallelism",
        "reported-right",
        "model",
        "sizes",
        "single",
    }
)


def names(folder: Path) -> list[str]:
    """The names of all pairs in a folder."""
    return sorted(path.stem for path in folder.glob(f"*{SUFFIX}"))


def load(folder: Path, name: str) -> Pair:
    """The pair `name` of a folder. Raises UsageError where there is none, PlanFileError where it breaks the format."""
    path = folder / f"{name}{SUFFIX}"
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(str(path), f"the pair cannot be read: {error}") from None
    return _pair(name, lines)


def _pair(name: str, lines: Sequence[str]) -> Pair:
    found: dict[str, list[str]] = defaultdict(list)
    about: list[str] = []
    hunks: list[tuple[list[str], list[str]]] = []
    plans: list[tuple[str, list[tuple[str, str]]]] = []
    for number, line in enumerate(lines, 1):
        word, _, rest = line.partition(" ")
        if line.startswith("@@"):
            hunks.append(([], []))
        elif hunks:
            for side, marks in zip(hunks[-1], (" -", " +"), strict=True):
                if line[:1] in marks:
                    side.append(line[1:])
        elif word == "plan":
            plans.append((rest, []))
        elif line[:1] in (" ", "-", "+") and plans:
            plans[-1][1].append((line[0], line[1:]))
        elif line.startswith("#"):
            about.append(line.lstrip("# "))
        elif word in WORDS:
            found[word].append(rest)
        elif line:
            raise PlanFileError(f"{name}:{number}", f"expected one of {', '.join(sorted(WORDS))}, found {word}")
    expected = [code for code in found["expect"] if not code.startswith("note ")]
    notes = [code.removeprefix("note ") for code in found["expect"] if code.startswith("note ")]
    place, _, ranks = " ".join(found["place"]).partition(" on ")
    return Pair(
        name,
        tuple(about),
        tuple(expected),
        tuple(notes),
        tuple(found["says"]),
        tuple(word for word in place.split(" or ") if word),
        _ranks(name, ranks),
        tuple(" ".join(found["missed"]).split()),
        tuple(found["deny"]),
        tuple(found["source"]),
        " ".join(found["category"]),
        " ".join(found["parallelism"]),
        bool(found["reported-right"]),
        " ".join(found["model"]),
        _choices(name, found["sizes"]),
        _choices(name, found["single"]),
        _frozen(hunks),
        _outlines(name, plans),
    )


def _ranks(name: str, text: str) -> tuple[int, ...]:
    if not all(word.isdecimal() for word in text.split()):
        raise PlanFileError(name, f"expected `place NAME on RANK ...`, found {text}")
    return tuple(map(int, text.split()))


def _outlines(name: str, plans: Sequence[tuple[str, list[tuple[str, str]]]]) -> tuple[Outline, ...]:
    if not plans:
        return ()
    heads = [head.split(" ", 1) for head, _ in plans]
    if [head[0] for head in heads] != ["single", "parallel"]:
        raise PlanFileError(name, "expected `plan single` and `plan parallel AXIS=SIZE ...`")
    (_, single), (_, parallel) = plans
    mesh = _sizes(name, heads[1][1:])
    right, wrong = (tuple(line for mark, line in parallel if mark in marks) for marks in (" -", " +"))
    if right == wrong:
        raise PlanFileError(name, "the parallel plan has no line that begins with - or +")
    return Outline((), tuple(line for _, line in single)), Outline(mesh, right), Outline(mesh, wrong)


def _frozen(hunks: Sequence[tuple[list[str], list[str]]]) -> tuple[Hunk, ...]:
    return tuple((tuple(before), tuple(after)) for before, after in hunks)


def _sizes(name: str, lines: Sequence[str]) -> tuple[tuple[str, int], ...]:
    words = [word.partition("=") for line in lines[-1:] for word in line.split()]
    if not all(size.isdecimal() for _, _, size in words):
        raise PlanFileError(name, f"expected NAME=SIZE, found {' '.join(lines)}")
    return tuple((key, int(size)) for key, _, size in words)


def _choices(name: str, lines: Sequence[str]) -> Choices:
    """Fields of the generator's sizes: numbers, and words such as optimizer=sgd."""
    words = [word.partition("=") for line in lines[-1:] for word in line.split()]
    if not all(key.isidentifier() and value for key, _, value in words):
        raise PlanFileError(name, f"expected NAME=SIZE or NAME=WORD, found {' '.join(lines)}")
    return tuple((key, int(value) if value.isdecimal() else value) for key, _, value in words)
