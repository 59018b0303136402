"""`[tool.verdict]` of a project's pyproject.toml: what `verdict check` asks. An unknown key is an error."""

import difflib
import os
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from verdict.batches.question import AUTO, FAKE, REAL, Pair, Program, Question, Settings, numbered
from verdict.errors import UsageError

FILE = "pyproject.toml"
TEXT, TEXTS, FLAG = "a text", "a list of texts", "true or false"
NUMBER, COUNT, SEED = "a number above 0", "an integer above 0", "an integer"
SETTINGS = {"assume": TEXTS, "deny-assumptions": TEXTS, "timeout": NUMBER, "time-limit": NUMBER, "seed": SEED,
            "exhaustive": FLAG}  # fmt: skip
TOP = {**SETTINGS, "outputs": TEXTS, "pairs": "", "programs": ""}
OF_PAIR = {**SETTINGS, "name": TEXT, "single": TEXT, "parallel": TEXT}
OF_PROGRAM = {**SETTINGS, "name": TEXT, "program": TEXT, "world": COUNT, "single": TEXT, "tensors": TEXT,
              "confirm": FLAG}  # fmt: skip
TENSORS = (AUTO, FAKE, REAL)


class Project(NamedTuple):
    """What a project lists, and the reports that it wants of each check (as --output)."""

    questions: tuple[Question, ...]
    outputs: tuple[str, ...]


def project_of(path: str | None) -> Project:
    """The project of this file; without one, of the nearest pyproject.toml here or above that has a [tool.verdict]."""
    file = Path(path) if path else _nearest()
    table = _table(file)
    if table is None:
        raise UsageError(str(file), "it has no [tool.verdict]", "see docs/ci.md")
    where = f"{file}, tool.verdict"
    _require(table, TOP, where)
    base = _settings(table, Settings(), where)
    asked: list[tuple[str, Pair | Program, Settings]] = []
    folder = os.path.relpath(file.resolve().parent)
    for at, entry in _entries(table, "pairs", OF_PAIR, ("single", "parallel"), where):
        pair = Pair(_beside(folder, entry["single"]), _beside(folder, entry["parallel"]))
        asked.append((entry.get("name", ""), pair, _settings(entry, base, at)))
    for at, entry in _entries(table, "programs", OF_PROGRAM, ("program", "world"), where):
        asked.append((entry.get("name", ""), _program(entry, folder, at), _settings(entry, base, at)))
    outputs = tuple(_beside(folder, text, of_form=True) for text in table.get("outputs", ()))
    return Project(numbered(where, asked), outputs)


def _nearest() -> Path:
    for folder in (Path.cwd(), *Path.cwd().parents):
        file = folder / FILE
        if file.is_file() and _table(file) is not None:
            return Path(os.path.relpath(file))
    raise UsageError(FILE, "there is none with a [tool.verdict] here or in a folder above", "see docs/ci.md")


def _table(file: Path) -> Any:
    """The table [tool.verdict] of a file, None where it has none."""
    try:
        with open(file, "rb") as content:
            whole = tomllib.load(content)
    except OSError as error:
        raise UsageError(str(file), f"it cannot be read: {error.strerror}", "is the path right?") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(str(file), f"it is no TOML: {error}") from None
    tool = whole.get("tool", {})
    return tool.get("verdict") if isinstance(tool, dict) else None


def _entries(
    table: Mapping[str, Any], name: str, known: Mapping[str, str], needed: Collection[str], where: str
) -> list[tuple[str, Mapping[str, Any]]]:
    """The tables of one kind, each with where it is."""
    entries = table.get(name, [])
    if not isinstance(entries, list):
        raise UsageError(f"{where}.{name}", "it is no list of tables", f"write [[tool.verdict.{name}]]")
    found = []
    for number, entry in enumerate(entries, 1):
        at = f"{where}.{name}, number {number}"
        _require(entry, known, at)
        missing = [key for key in needed if key not in entry]
        if missing:
            raise UsageError(at, f"{missing[0]} is missing", f"needed: {', '.join(needed)}")
        found.append((at, entry))
    return found


def _require(table: Any, known: Mapping[str, str], where: str) -> None:
    """Raises UsageError for the first key that is not known, or whose value is of another kind."""
    if not isinstance(table, dict):
        raise UsageError(where, "it is no table", f"it may hold: {', '.join(known)}")
    for key, value in table.items():
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            raise UsageError(where, f"there is no key {key}", f"did you mean {close[0]}?" if close else _all_of(known))
        if not _fits(value, known[key]):
            raise UsageError(f"{where}.{key}", f"{value!r} is not {known[key]}")


def _all_of(known: Collection[str]) -> str:
    return f"known: {', '.join(known)}"


def _fits(value: Any, kind: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        TEXT: isinstance(value, str) and bool(value),
        TEXTS: isinstance(value, list) and all(isinstance(item, str) for item in value),
        NUMBER: number and 0 < value < float("inf"),
        COUNT: number and isinstance(value, int) and value > 0,
        SEED: number and isinstance(value, int),
        FLAG: isinstance(value, bool),
    }.get(kind, True)


def _settings(table: Mapping[str, Any], base: Settings, where: str) -> Settings:
    """The settings of a table on top of those of the whole list: assumptions are added, the others replaced."""
    return Settings(
        assume=_united(base.assume, table.get("assume", ())),
        denied=_united(base.denied, table.get("deny-assumptions", ())),
        timeout=float(table.get("timeout", base.timeout)),
        time_limit=float(table.get("time-limit", base.time_limit)),
        seed=table.get("seed", base.seed),
        exhaustive=table.get("exhaustive", base.exhaustive),
    )


def _united(base: Collection[str], more: Collection[str]) -> tuple[str, ...]:
    return tuple(sorted({*base, *more}))


def _program(entry: Mapping[str, Any], folder: str, where: str) -> Program:
    tensors = entry.get("tensors", TENSORS[0])
    if tensors not in TENSORS:
        raise UsageError(f"{where}.tensors", f"{tensors!r} is not known", f"known: {', '.join(TENSORS)}")
    single = entry.get("single", "")
    return Program(
        _beside(folder, entry["program"]),
        entry["world"],
        _beside(folder, single) if single else "",
        tensors,
        entry.get("confirm", True),
    )


def _beside(folder: str, text: str, of_form: bool = False) -> str:
    """The path that a project's file gives, from here. of_form: the path may stand behind FORMAT and a colon."""
    form, colon, path = text.partition(":") if of_form else ("", "", text)
    return f"{form}{colon}{os.path.normpath(os.path.join(folder, path))}" if path else text
