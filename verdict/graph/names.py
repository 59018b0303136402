"""Names in a plan, which say what is alike in it: the same thing of other layers has other numbers in its name."""

import re
from collections.abc import Sequence

_BETWEEN_DOTS = re.compile(r"(?<![^. ])\d+(?=\.|$)")
_NUMBER = re.compile(r"\d+")


WRAPPERS = frozenset({"_checkpoint_wrapped_module", "_fsdp_wrapped_module", "_orig_mod"})
"""What wrappers put into the names of modules."""
WRAPPED = "module"
"""What data parallelism calls the module that it wraps."""


def unwrapped(module: str) -> str:
    """The name of a module without those of what wraps it."""
    parts = [part for part in module.split(".") if part not in WRAPPERS]
    first = next((place for place, part in enumerate(parts) if part != WRAPPED), len(parts))
    return ".".join(parts[first:])


def unwrapped_node(name: str) -> str:
    """The name of a node, which begins with that of its module, without what wraps that."""
    module, colon, rest = name.partition(": ")
    if not colon or " " in module:
        return name
    module = unwrapped(module)
    return f"{module}: {rest}" if module else rest


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
