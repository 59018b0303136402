"""Where reports go: `FORMAT:FILE` read, the files looked at before anything runs, each written whole or not at all."""

import io
import os
import tempfile
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import NamedTuple

from rich.console import Console

from verdict.errors import UsageError
from verdict.report.github import to_github
from verdict.report.html import to_html
from verdict.report.json import to_json
from verdict.report.junit import to_junit
from verdict.report.report import Measured, Report
from verdict.report.sarif import to_sarif
from verdict.report.text import show


def _plain(report: Report, measured: Measured, verbose: int) -> str:
    file = io.StringIO()
    show(report, measured, Console(file=file, soft_wrap=True, highlight=False, markup=False, emoji=False), verbose)
    return file.getvalue()


FORMS: dict[str, Callable[[Report, Measured, int], str]] = {
    "text": _plain,
    "json": lambda report, measured, _: to_json(report, measured),
    "sarif": lambda report, measured, _: to_sarif(report),
    "junit": lambda report, measured, _: to_junit(report, measured),
    "github": lambda report, measured, _: to_github(report),
    "html": lambda report, measured, _: to_html(report, measured),
}
"""How a report becomes the text of a file."""


class Output(NamedTuple):
    """A report that is asked for. instead: the terminal gets none."""

    form: str
    path: str
    instead: bool


def output_of(text: str, form: str, forms: Collection[str] = FORMS) -> Output:
    """`FORMAT:FILE`, or a file of this form that is written instead of the terminal. forms: those that there are."""
    before, colon, path = text.partition(":")
    if colon and before in forms and path:
        return Output(before, path, instead=False)
    if colon and (before in forms or (len(before) > 1 and before.isalnum())):
        raise UsageError("--output", f"{text} is not FORMAT:FILE", f"formats: {', '.join(forms)}")
    return Output(form, text, instead=True)


def require_writable(inputs: Iterable[str], outputs: Iterable[tuple[str, str]]) -> None:
    """Refuse outputs (what it is, path) that are inputs or one another, and those that cannot be written."""
    taken = {os.path.realpath(path): "it is a plan that is read" for path in inputs}
    for what, path in outputs:
        real = os.path.realpath(path)
        if os.path.exists(real) and not os.path.isfile(real) and not os.path.isdir(real):
            continue
        same = next((said for other, said in taken.items() if _same(real, other)), "")
        if same:
            raise UsageError(path, f"{what} cannot be written: {same}", "give another file")
        folder = os.path.dirname(real)
        reason = (
            "it is a folder" if os.path.isdir(real)
            else "there is no such folder" if not os.path.isdir(folder)
            else "permission denied" if not os.access(real if os.path.exists(real) else folder, os.W_OK)
            else ""
        )  # fmt: skip
        if reason:
            raise UsageError(path, f"{what} cannot be written: {reason}", "give a writable file")
        taken[real] = "another output goes there"


def _same(path: str, other: str) -> bool:
    if path == other:
        return True
    with suppress(OSError):
        return os.path.samefile(path, other)
    return False


def rendered(form: str, report: Report, measured: Measured, verbose: int = 0) -> str:
    """The whole text of a report in one form."""
    return FORMS[form](report, measured, verbose)


def write_whole(path: str, text: str) -> None:
    """Write UTF-8 beside the file and put it in its place, so that a file is never half a report."""
    real = os.path.realpath(path)
    try:
        if os.path.exists(real) and not os.path.isfile(real):
            with open(real, "w", encoding="utf-8") as file:
                file.write(text)
            return
        _replace(real, text)
    except OSError as error:
        raise UsageError(path, f"the report cannot be written: {error.strerror}", "give a writable file") from None


def _replace(real: str, text: str) -> None:
    mask = os.umask(0)
    os.umask(mask)
    mode = os.stat(real).st_mode & 0o777 if os.path.exists(real) else 0o666 & ~mask
    beside, name = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".verdict-")
    try:
        with open(beside, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, mode)
        os.replace(name, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
