"""docs/parallelisms.md lists what scripts/run_parallelisms.py verifies, and every row can be generated."""

import re
from pathlib import Path

from click.testing import CliRunner

from scripts.run_parallelisms import COMMON, ROWS, Found, line, written
from verdict.cli import cli

PAGE = Path(__file__).parents[1] / "docs" / "parallelisms.md"


def test_the_page_has_every_row_with_a_verdict():
    page = PAGE.read_text(encoding="utf-8")
    for row in ROWS:
        found = re.search(
            rf"^\| {re.escape(row.name)} \| `{re.escape(row.model)} {re.escape(row.flags)}` \|.*$", page, re.M
        )
        assert found, row.name
        assert found.group().split("|")[5].strip(), f"{row.name} has no verdict"


def test_rows_that_were_not_run_stay():
    page = PAGE.read_text(encoding="utf-8")
    first, second = ROWS[:2]
    once = written(page, {first.name: line(first, Found("2", "PROVED", "99.0", ""))}, "here")
    assert "| 2 | PROVED | 99.0 |" in once
    kept = next(text for text in page.splitlines() if text.startswith(f"| {second.name} |"))
    assert kept in once


def test_the_smallest_and_the_largest_row_are_generated(tmp_path):
    sizes = [word for name, size in COMMON.items() for word in (f"--{name}", str(size))]
    for row in (ROWS[0], ROWS[-1]):
        done = CliRunner().invoke(cli, ["generate", row.model, *sizes, *row.flags.split(), "-o", str(tmp_path)])
        assert done.exit_code == 0, done.output
