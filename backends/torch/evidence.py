"""What a recording was seen to depend on, as plain data, and whether it is still so."""

import hashlib
import importlib.machinery
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from stat import S_ISDIR, S_ISLNK
from typing import Any

FILE, NAMES, THERE, MODULE, VARIABLE, ALL, NEVER = "file", "names", "there", "module", "variable", "variables", "never"
_STAT, _LSTAT, _READLINK = os.stat, os.lstat, os.readlink

Line = tuple[str, str, Any]
"""What was seen: its kind, of what, and what it was.

FILE: a hash of its content. NAMES: one of the names in a folder. THERE: whether it is a file or a folder. MODULE: where
it was looked for, and the file in which it was found. VARIABLE: a hash of its value. ALL: one of all variables. NEVER:
why nothing that was found can be used again.
"""


def digest(path: str) -> str:
    """A hash of a file's content; "" where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def names_in(path: str) -> str:
    """A hash of the names in a folder; "" where it cannot be read."""
    try:
        return hash_of(sorted(os.listdir(path)))
    except OSError:
        return ""


def hash_of(value: Any) -> str:
    """A hash of plain data."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def kind_of(path: str) -> str:
    """What stands there: a folder, a file, or nothing; and where a link leads."""
    try:
        mode = _LSTAT(path).st_mode
        link = f"link to {_READLINK(path)}, " if S_ISLNK(mode) else ""
        mode = _STAT(path).st_mode if link else mode
    except OSError:
        return ""
    return f"{link}{'folder' if S_ISDIR(mode) else 'file'}"


def origin_of(name: str, search: Sequence[str]) -> str:
    """The file in which a module is found on a path; "" where it is not there."""
    try:
        spec = importlib.machinery.PathFinder.find_spec(name, list(search))
    except (ImportError, ValueError, AttributeError):
        return ""
    return "" if spec is None else str(spec.origin or "")


def told_in(folder: Path) -> tuple[tuple[Line, ...], int]:
    """What processes told into the files of `folder`, each thing once, and how many processes they were."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    lines = sorted({line for file in files for line in file.read_text().splitlines()})
    return tuple(_line(json.loads(line)) for line in lines), len(files)


def _line(told: Sequence[Any]) -> Line:
    kind, what, was = told
    return str(kind), str(what), was


def changed(lines: Sequence[Line], environment: Mapping[str, str]) -> str:
    """What is not as it was when it was seen, as a clause; "" where all is. environment: that of a new process."""
    importlib.invalidate_caches()
    now: dict[str, Callable[[str, Any], Any]] = {
        FILE: lambda what, was: digest(what),
        NAMES: lambda what, was: names_in(what),
        THERE: lambda what, was: kind_of(what),
        MODULE: lambda what, was: [was[0], origin_of(what, was[0])],
        VARIABLE: lambda what, was: hash_of(environment.get(what)),
        ALL: lambda what, was: hash_of(sorted(environment.items())),
    }
    for kind, what, was in lines:
        if kind not in now:
            return what
        if now[kind](what, was) != was:
            return f"{kind} {what}".strip() + " is not what it was"
    return ""
