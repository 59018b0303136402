"""The words of the text format: tokens of a line, names and their quotes, and errors that name a line."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NoReturn

from verdict.counting import Percent
from verdict.errors import PlanFileError
from verdict.graph import ACCUMULATOR, ACTIVATION, BUFFER, GRADIENT, INPUT, WEIGHT

OFTEN = 1024
"""How many lines are read between two times that it is told how many are."""
KINDS = (INPUT, WEIGHT, BUFFER, ACTIVATION, GRADIENT, ACCUMULATOR)
"""The kinds of logical tensors."""

RESERVED = frozenset({"self", "each", "None", "True", "False", "inf", "nan"})
"""Words that stand for values; a mesh axis of such a name cannot be used in an expression."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*", re.ASCII)
_TOKEN = re.compile(
    r"""(?:[A-Za-z_][A-Za-z0-9_.]*|"(?:[^"\\]|\\.)*")(?:~[0-9]+)?(?:'[0-9]+)?"""
    r"""|[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf\b)"""
    r"""|\#.*|\S""",
    re.ASCII,
)
_LABEL = re.compile(r"""([A-Za-z_][A-Za-z0-9_.]*|"(?:[^"\\]|\\.)*")(?:~([0-9]{1,9}))?(?:'([0-9]{1,9}))?""", re.ASCII)
_VALUE = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|inf)", re.ASCII)
_NUMBER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_LONGEST_NUMBER = 40
"""The most characters of a number: all that attributes may hold need fewer, and longer ones are refused unconverted."""


def text_lines(data: bytes, source: str, head: str) -> list[str]:
    """The lines of a text, of which the first is `head`. Raises PlanFileError(source:line) where it is none such."""
    try:
        lines = data.decode("utf-8").rstrip().split("\n")
    except UnicodeDecodeError as error:
        where = data.count(b"\n", 0, error.start) + 1
        raise PlanFileError(
            f"{source}:{where}", f"byte {error.start} is not UTF-8", "the file may be damaged"
        ) from None
    found = lines[0].split("#")[0].split()
    if found != head.split():
        raise PlanFileError(f"{source}:1", f"expected {head}, found {lines[0][:60].strip()}", "this version reads 1")
    return lines


def told_of(lines: Sequence[str], told: Percent) -> Iterator[tuple[int, str]]:
    """The lines behind the first one with their numbers; it is told how many of them were read."""
    for number, text in enumerate(lines[1:], 2):
        if number % OFTEN == 0:
            told(100 * number // len(lines))
        yield number, text


def quoted(name: str) -> str:
    """`name` as a word where it is one, else between quotes, in JSON's escapes."""
    return name if _WORD.fullmatch(name) else json.dumps(name)


def label(name: str, ordinal: int, version: int = 1) -> str:
    """How the `ordinal`-th thing of this name is called, and the `version`-th share of it on a device."""
    return quoted(name) + (f"~{ordinal}" if ordinal > 1 else "") + (f"'{version}" if version > 1 else "")


class Line:
    """The tokens of one line, read from left to right. `fail` names the line."""

    __slots__ = ("at", "number", "source", "tokens")

    def __init__(self, source: str, number: int, text: str) -> None:
        self.source = source
        self.number = number
        self.at = 0
        self.tokens: list[str] = _TOKEN.findall(text)
        if self.tokens and self.tokens[-1].startswith("#"):
            self.tokens.pop()
        self.tokens.append("")

    def fail(self, problem: str, help: str = "") -> NoReturn:
        """Raise the error that this line is wrong."""
        raise PlanFileError(f"{self.source}:{self.number}", problem, help)

    def found(self) -> str:
        """The next token, as messages show it."""
        token = self.tokens[self.at]
        if token == '"':
            return "a string without its closing quote"
        return "the end of the line" if token == "" else token if len(token) < 60 else token[:57] + "..."

    def peek(self) -> str:
        """The next token; "" at the end of the line."""
        return self.tokens[self.at]

    def take(self) -> str:
        """The next token, passed over."""
        token = self.tokens[self.at]
        if token:
            self.at += 1
        return token

    def skip(self, token: str) -> bool:
        """Whether the next token is `token`, which is then passed over."""
        if self.tokens[self.at] != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        """Pass over `token`."""
        if not self.skip(token):
            self.fail(f"expected {token}, found {self.found()}")

    def bracketed(self) -> tuple[str, ...]:
        """The tokens of `[...]` and `{...}` that come next, as far as they are there; they are not passed over."""
        end = self.at
        for opening, closing in (("[", "]"), ("{", "}")):
            if self.tokens[end] == opening and closing in self.tokens[end:]:
                end = self.tokens.index(closing, end) + 1
        return tuple(self.tokens[self.at : end])

    def before(self, token: str) -> tuple[str, ...]:
        """The tokens that come next, up to `token` or the end of the line; they are not passed over."""
        rest = self.tokens[self.at : -1]
        return tuple(rest[: rest.index(token)] if token in rest else rest)

    def end(self) -> None:
        """Be at the end of the line."""
        if self.tokens[self.at]:
            self.fail(f"expected the end of the line, found {self.found()}")

    def integer(self, what: str) -> int:
        """A whole number that is not negative."""
        token = self.tokens[self.at]
        if not (token.isdecimal() and token.isascii()) or len(token) > _LONGEST_NUMBER:
            self.fail(f"expected {what}, a whole number, found {self.found()}")
        self.at += 1
        return int(token)

    def signed(self, what: str) -> int:
        """A whole number, which may have a sign."""
        token = self.tokens[self.at]
        if not _NUMBER.fullmatch(token) or len(token) > _LONGEST_NUMBER:
            self.fail(f"expected {what}, a whole number, found {self.found()}")
        self.at += 1
        return int(token)

    def signed_or_endless(self, what: str) -> int | None:
        """A whole number, or None for `inf`."""
        if self.tokens[self.at] != "inf":
            return self.signed(what)
        self.at += 1
        return None

    def number_here(self) -> int | float:
        """An integer or a float with its sign."""
        token = self.tokens[self.at]
        if not _VALUE.fullmatch(token) or len(token) > _LONGEST_NUMBER:
            self.fail(f"expected a number of at most {_LONGEST_NUMBER} signs, found {self.found()}")
        self.at += 1
        return int(token) if _NUMBER.fullmatch(token) else float(token)

    def label(self, what: str) -> tuple[str, int, int]:
        """A name, which of the things of that name (1 where not said), and which share of it (1 where not said)."""
        match = _LABEL.fullmatch(self.tokens[self.at])
        if match is None:
            self.fail(f"expected {what}, found {self.found()}")
        name, ordinal, version = match.groups()
        text = self.unquoted(name)
        self.at += 1
        return text, int(ordinal or 1), int(version or 1)

    def name(self, what: str) -> str:
        """A name without ordinals."""
        token = self.tokens[self.at]
        if not (_WORD.fullmatch(token) or (token[:1] == token[-1:] == '"' and len(token) > 1)):
            self.fail(f"expected {what}, found {self.found()}")
        text = self.unquoted(token)
        self.at += 1
        return text

    def unquoted(self, token: str) -> str:
        """The name that a word or a quoted string stands for."""
        if token[0] != '"':
            return token
        try:
            return str(json.loads(token))
        except ValueError:
            self.fail(f"expected a string in JSON's escapes, found {self.found()}")
