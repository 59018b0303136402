"""The page is as wide as the terminal, and what a verdict rests on is folded."""

import io
import re

import pytest
from rich.console import Console

from tests.pairs import names
from tests.report.reports import MEASURED, right, wrong
from verdict.report import show
from verdict.report.lines import counted

pytestmark = pytest.mark.usefixtures("shared_proofs")
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def shown(report, width, verbose=0):
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, soft_wrap=True, highlight=False, markup=False)
    show(report, MEASURED, console, verbose)
    return ESCAPES.sub("", file.getvalue())


@pytest.mark.parametrize("name", names())
def test_no_line_of_a_finding_is_wider_than_the_terminal(name):
    report = wrong(name)
    texts = {width: shown(report, width).split("\nsingle    ")[0] for width in (80, 100, 160)}
    for width, text in texts.items():
        assert all(len(line) <= width for line in text.splitlines()), width
    assert len({len(text.split()) for text in (texts[100], texts[160])}) == 1
    assert len(texts[80].splitlines()) >= len(texts[160].splitlines())


def test_trust_and_statistics_are_folded():
    report = right()
    folded, unfolded = shown(report, 100), shown(report, 100, 1)
    names = [assumption.name for assumption in report.assumptions]
    assert names and all(name in folded for name in names)
    assert report.assumptions[0].text not in folded
    assert report.assumptions[0].text in unfolded
    assert "are one term on both sides" in unfolded
    assert "are one term" not in folded
    refuted = shown(wrong(), 100)
    assert "taken on trust" not in refuted
    assert "taken on trust" in shown(wrong(), 100, 1)


def test_plurals():
    assert [counted(k, "rank") for k in (0, 1, 2)] == ["0 ranks", "1 rank", "2 ranks"]
    assert counted(2, "microbatch", "es") == "2 microbatches"
