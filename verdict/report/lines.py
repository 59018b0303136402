"""Text that fits the page."""

import textwrap

WIDTH = 100
"""Columns. No line is longer, but for words that no blank breaks."""


def wrapped(text: str, first: str, then: str) -> list[str]:
    """The text in lines of at most WIDTH columns, the first indented by `first`, the others by `then`."""
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=then, break_long_words=False, break_on_hyphens=False
    ) or [first.rstrip()]
