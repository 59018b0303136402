"""Names in a plan, which say what is alike in it: the same thing of other layers has other numbers in its name."""

import re

_NUMBER = re.compile(r"\d+")


def alike(name: str) -> str:
    """A name without its numbers."""
    return _NUMBER.sub("#", name)
