"""docs/libraries.md lists what scripts/libraries.py records and proves, and every program of a row is there."""

import ast
import re

import pytest

from scripts.libraries import COLUMNS, HEAD, LIBRARIES, PAGE, PROGRAMS, Answer, line, unanswered, written

ROWS = [(library, row) for library in LIBRARIES for row in library.rows]
RIGHT = Answer("PROVED", 10, 1.0, 2.0)
WRONG = Answer("REFUTED", 10, 1.0, 2.0, "wrong-scale at train.py:3")


def test_the_page_has_every_row_with_a_verdict():
    page = PAGE.read_text(encoding="utf-8")
    for library, row in ROWS:
        assert f"## {library.name} {library.version}\n" in page
        found = re.search(rf"^\| {re.escape(row.what)} \|.*$", page, re.M)
        assert found, row.what
        cells = [cell.strip() for cell in found.group().split("|")[1:-1]]
        assert len(cells) == len(COLUMNS)
        assert cells[5] == "PROVED" or (row.reason and row.reason in cells[5]), f"{row.what} has no reason"
        assert not row.wrong or cells[7].startswith("REFUTED "), row.what


def test_the_page_names_what_has_no_answer():
    assert PAGE.read_text(encoding="utf-8").startswith(f"{HEAD}\n{unanswered(LIBRARIES)}\n\nMeasured: ")
    assert "DETR" in unanswered(LIBRARIES)


@pytest.mark.parametrize(("library", "row"), ROWS, ids=lambda value: getattr(value, "what", ""))
def test_the_programs_of_a_row_are_there(library, row):
    tree = ast.parse((PROGRAMS / row.file).read_text(encoding="utf-8"))
    assigned = {name.id for node in tree.body for name in ast.walk(node) if isinstance(name, ast.Name)}
    made = assigned | {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert {row.right, row.single, *filter(None, [row.wrong])} <= made


def test_rows_that_were_not_run_stay():
    library = LIBRARIES[0]
    first, second = library.rows[:2]
    key = f"{library.name}: {first.what}"
    once = written("", {key: line(first, RIGHT, WRONG)}, (library,), "here")
    twice = written(once, {f"{library.name}: {second.what}": line(second, RIGHT, None)}, (library,), "there")
    assert twice.index(f"| {first.what} |") < twice.index(f"| {second.what} |")
    assert "REFUTED wrong-scale at train.py:3 |" in twice
