"""A page of docs/ that a script writes out of the code, or, with --check, compares with it."""

from collections.abc import Sequence
from pathlib import Path


def write_or_check(page: Path, text: str, arguments: Sequence[str]) -> int:
    """Write the text of a page. With --check among the arguments nothing is written, and 1 says that it differs."""
    if "--check" in arguments:
        return int(not page.exists() or page.read_text(encoding="utf-8") != text)
    page.write_text(text, encoding="utf-8")
    return 0
