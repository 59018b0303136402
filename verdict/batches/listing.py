"""The list of `verdict batch`: one pair or program a line, as they stand on a command line."""

import shlex
import sys
from collections.abc import Iterator

from verdict.batches.question import Pair, Program, Question, Settings, numbered
from verdict.errors import UsageError

EXAMPLE = "SINGLE.plan PARALLEL.plan, or FILE.py:BUILD WORLD [FILE.py:BUILD_SINGLE]"


def questions_of(path: str, settings: Settings) -> tuple[Question, ...]:
    """The questions of a list's file, `-` for standard input. Empty lines and what follows # are no questions."""
    return numbered(path, [("", asked, settings) for asked in _asked(path)])


def _asked(path: str) -> Iterator[Pair | Program]:
    for number, line in enumerate(_lines(path), 1):
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise UsageError(f"{path}:{number}", f"it cannot be read: {error}", EXAMPLE) from None
        if words:
            yield _one(words, f"{path}:{number}")


def _one(words: list[str], where: str) -> Pair | Program:
    """What one line asks: where the second word is a number, a program on so many ranks."""
    if len(words) in (2, 3) and words[1].isascii() and words[1].isdigit() and int(words[1]) > 0:
        return Program(words[0], int(words[1]), "".join(words[2:]))
    if len(words) == 2:
        return Pair(*words)
    raise UsageError(where, f"it has {len(words)} words", f"write {EXAMPLE}")


def _lines(path: str) -> list[str]:
    try:
        if path == "-":
            return sys.stdin.read().splitlines()
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except OSError as error:
        raise UsageError(path, f"the list cannot be read: {error.strerror}", "is the path right?") from None
    except UnicodeDecodeError:
        raise UsageError(path, "the list is no UTF-8 text", f"a line is {EXAMPLE}") from None
