"""Text that fits the page."""

import textwrap

WIDTH = 100
"""Columns where no terminal says how many it has. No line is longer, but for words that no blank breaks."""


def wrapped(text: str, first: str, then: str, width: int = WIDTH) -> list[str]:
    """The text in lines of at most `width` columns, the first indented by `first`, the others by `then`."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    ) or [first.rstrip()]


def counted(count: int, noun: str, plural: str = "s") -> str:
    """How many of what; the noun takes its ending unless there is one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}{plural}"
