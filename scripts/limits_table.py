"""Write docs/limits.md from the numbers in the code: python scripts/limits_table.py [--check].

A number of a module is a limit, a tolerance or a count of tries, and its reason stands below it or below the last of
a few; or it is one of NO_LIMITS. One that is neither is an error. With --check nothing is written and the exit status
tells whether the page is up to date.
"""

import ast
import sys
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scripts.page import write_or_check  # noqa: E402

PAGE = ROOT / "docs" / "limits.md"
ROOMS = ("verdict", "backends")
NO_LIMITS: Mapping[str, frozenset[str]] = {
    "exit statuses": frozenset(
        {"AGREES", "DIFFERS", "CANNOT_RUN", "ALL_AS_EXPECTED", "SOME_NOT", "QUESTION_NOT_PUT", "INTERNAL_ERROR"}
    ),
    "codes of the plan format and of torch": frozenset(
        {"ABSENT", "ONCE_A_STEP", "GIVEN", "_WHOLE_PART", "NONE", "MEAN", "_PARENT_DEATH_SIGNAL"}
    ),
    "numbers of a formula": frozenset({"HALF", "TANH_CUBE", "ROUTE_SCALE", "HIDDEN", "CLAMP", "_MIX", "_MASK", "MIB"}),
    "widths of a table's columns": frozenset({"WIDTHS"}),
}
HEAD = """# Limits and tolerances

Generated from the code by `python scripts/limits_table.py`; do not edit. Every number on which it depends what is
looked at, how long, how exactly, and how much of it is shown, with its reason, by room and file. A limit that is
reached never makes a proof: what lies beyond it is UNKNOWN, or is not shown.
"""


class Number(NamedTuple):
    """A constant of a module. value: as it is written. reason: its docstring, on one line."""

    file: str
    name: str
    value: str
    reason: str


def numbers_of(file: Path) -> Iterator[Number]:
    """The numbers that a module names."""
    source = file.read_text(encoding="utf-8")
    few: list[tuple[str, str]] = []
    for statement in [*ast.parse(source).body, None]:
        value = _number(statement)
        if statement is not None and value is not None:
            few.append((", ".join(_names(statement)), " ".join((ast.get_source_segment(source, value) or "").split())))
            continue
        yield from (Number(str(file.relative_to(ROOT)), name, text, _docstring(statement)) for name, text in few)
        few = []


def _number(statement: ast.stmt | None) -> ast.expr | None:
    """What a statement gives to names of constants, if it is a number."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    return value if value is not None and _is_number(value) and all(map(str.isupper, _names(statement))) else None


def _names(statement: ast.stmt | None) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def _docstring(statement: ast.stmt | None) -> str:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return " ".join(value.value.split()) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_is_number, node.elts))
    if isinstance(node, ast.Call):
        made = isinstance(node.func, ast.Name) and node.func.id in ("range", "float", "Fraction")
        return made and bool(node.args) and all(map(_is_number, node.args))
    return False


def limits() -> list[Number]:
    """All limits of the project, by file. Raises ValueError for a number without a reason."""
    files = sorted(file for room in ROOMS for file in (ROOT / room).rglob("*.py"))
    known = frozenset[str]().union(*NO_LIMITS.values())
    found = [number for file in files for number in numbers_of(file) if not known & set(number.name.split(", "))]
    bare = [f"{number.file}: {number.name}" for number in found if not number.reason]
    if bare:
        raise ValueError(f"numbers without a reason below them: {'; '.join(bare)}")
    return found


def page() -> str:
    """The text of docs/limits.md."""
    sections = []
    for room, numbers in groupby(limits(), key=lambda number: str(Path(number.file).parent)):
        rows = "\n".join(map(_row, numbers))
        sections.append(f"## {room}\n\n| file | name | value | reason |\n|---|---|---|---|\n{rows}\n")
    return HEAD + "\n" + "\n".join(sections)


def _row(number: Number) -> str:
    cells = (f"`{Path(number.file).name}`", f"`{number.name}`", number.value, number.reason)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page(), sys.argv[1:]))
