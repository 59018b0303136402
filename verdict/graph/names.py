"""Names in a plan, which say what is alike in it: the same thing of other layers has other numbers in its name."""

import re
from collections.abc import Sequence

_BETWEEN_DOTS = re.compile(r"(?<![^. ])\d+(?=\.|$)")
_NUMBER = re.compile(r"\d+")


def alike(name: str) -> str:
    """A name without its numbers."""
    return _NUMBER.sub("#", name)


def patterned(names: Sequence[str]) -> list[str]:
    """Names in their order, those that differ in numbers between dots alone as one: `layers.*.norm.weight`."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(_BETWEEN_DOTS.sub("*", name), []).append(name)
    return [pattern if len(found) > 1 else found[0] for pattern, found in groups.items()]


def first_of(names: Sequence[str], most: int) -> str:
    """The first of some names; dots stand for the others."""
    return ", ".join([*names[:most], *(["..."] if len(names) > most else [])])
