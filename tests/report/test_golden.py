"""What a reader of a refutation sees, line by line: the findings of every bug pair, as kept in golden/.

To renew the files after a change that is meant: VERDICT_GOLDEN=write pytest tests/report/test_golden.py
"""

import io
import os
from pathlib import Path

import pytest
from rich.console import Console

from tests.pairs import names, report_on
from verdict.report import Measured, show
from verdict.report.lines import WIDTH

pytestmark = pytest.mark.usefixtures("shared_proofs")
GOLDEN = Path(__file__).resolve().parent / "golden"
WRITE = os.environ.get("VERDICT_GOLDEN") == "write"


def told(report, **console):
    """The text of a report, as far as it does not speak of sizes and proofs."""
    file = io.StringIO()
    plain = {"soft_wrap": True, "highlight": False, "markup": False, "emoji": False, **console}
    show(report, Measured((), 0.0, 1), Console(file=file, **plain))
    return file.getvalue().split("\nsingle    ")[0] + "\n"


@pytest.mark.parametrize("name", names())
def test_a_report_reads_as_kept(name):
    text, path = told(report_on(name)), GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(text)
    assert text == path.read_text()
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_no_file_is_left_over():
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == names()


def test_colours_mark_the_code_and_what_differs_on_a_terminal_only():
    report = report_on("missing_reduction")
    plain, coloured = told(report), told(report, force_terminal=True, color_system="256")
    assert "\x1b[" not in plain
    assert "\x1b[1;38;5;160merror[missing-reduction]\x1b[0m" in coloured
    assert "\x1b[1;38;5;160m*\x1b[0m" in coloured
