"""The suite of real bugs: each right plan is proved, each bug refuted with its code at its place, but for what its file
says is missed; and numbers say the same."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from verdict.backends import pairs
from verdict.bugs import judge
from verdict.concrete import AGREE, DIFFER, FAULT, compare
from verdict.graph.form import require_form
from verdict.options import Options, SolverOptions
from verdict.report.codes import CODES

FOLDER = Path(__file__).resolve().parent
DOCS = FOLDER.parents[1] / "docs" / "bugs.md"
NAMES_OF_PROGRAMS = [f"{path.stem.replace('_', '-')}.py" for path in (FOLDER / "programs").glob("*.py")]
NAMES = pairs.names(FOLDER)
SUMS = ("refuted", "right plans proved", "codes", "places first")
FAST = Options(solver=SolverOptions(z3=False), attempts=None)
WITHOUT_REPAIR = Options(solver=SolverOptions(z3=False))
NOT_IN_VALUES = {
    "read-before-wait", "unordered-streams", "stale-read", "overwritten-early", "dtype-differs", "assumption-denied"
}  # fmt: skip
"""Codes of bugs that leave the values alone: over real numbers, and where all happens in the order of the program."""


@cache
def load(name):
    return pairs.load(FOLDER, name)


@pytest.mark.parametrize("name", NAMES)
def test_exactly_that_is_missed_which_the_file_says(name):
    found = judge(load(name), FAST)
    assert found.as_expected, (found.missed, found.twin, found.found)


def test_a_step_that_is_blamed_for_what_another_rank_reads_stands_where_it_is_said_to():
    first, *_ = judge(load("nemo-speech-6449"), WITHOUT_REPAIR).found.findings
    assert (first.where, first.ranks) == ("h2 on rank 0", (0,))
    assert first.title.startswith("linear h2 on rank 0 reads h1")


@pytest.mark.parametrize("name", NAMES)
def test_numbers_say_the_same(name):
    bug = load(name)
    assert compare(*bug.twin()).outcome == AGREE
    wrong = {AGREE} if set(bug.expected) <= NOT_IN_VALUES else {DIFFER, FAULT}
    assert compare(*bug.plans()).outcome in wrong


@pytest.mark.parametrize("name", NAMES)
def test_a_file_says_where_its_bug_comes_from(name):
    bug = load(name)
    assert bug.title and bug.category and bug.parallelism
    assert bug.sources and all(source.startswith("https://") for source in bug.sources)
    assert {code for choice in bug.expected for code in choice.split(" or ")} <= set(CODES)
    assert bug.expected and bug.place
    assert set(bug.missed) <= {"proved", "refuted", "code", "place"}
    require_form(bug.twin()[0])


def test_the_suite_is_as_large_as_the_page_says():
    assert len(NAMES) >= 120
    text = DOCS.read_text()
    assert [name for name in NAMES if f"`{name}`" not in text] == []
    programs = [pairs.load_bug(FOLDER, name) for name in NAMES_OF_PROGRAMS]
    known = [*map(load, NAMES), *programs]
    missed = Counter(word for bug in known for word in bug.missed)
    asked = ("refuted", "proved", "code", "place")
    counts = [f"{what} {len(known) - missed[word]}" for what, word in zip(SUMS, asked, strict=True)]
    assert f"{len(known)} bugs, {len(programs)} of them as recorded programs: {', '.join(counts)}, " in text
