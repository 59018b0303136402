"""Which modules of this process have a function by name: who has imported it, beside its own.

A process has thousands of modules, and to look at all of them in a copy of it copies most of its memory. So a process
of which there will be copies looks before, and each copy at those alone that it has imported since.
"""

import sys
from collections.abc import Iterable
from itertools import takewhile
from types import ModuleType
from typing import Any, NamedTuple

Named = tuple[ModuleType, str]
"""A module, and the name of a function of its own."""


class _Looked(NamedTuple):
    """last: the name of the latest module when it was looked at all of them. found: those that have the function."""

    function: Any
    last: str
    found: tuple[ModuleType, ...]


_LOOKED: dict[tuple[str, str], _Looked] = {}


def latest() -> str:
    """The name of the module that was imported last."""
    return next(reversed(sys.modules))


def since(last: str) -> list[str]:
    """The names of modules that were imported after the one of this name, in their order; all where it is not there."""
    return [*takewhile(lambda name: name != last, reversed(sys.modules))][::-1]


def importers(owner: ModuleType, name: str) -> tuple[ModuleType, ...]:
    """The modules that have a function of `owner` under its name: its own, and all others that imported it. So
    `fully_shard` makes its mesh by `init_device_mesh` where it is given none.
    """
    function, key = getattr(owner, name), (owner.__name__, name)
    before = _LOOKED.get(key)
    if before is None or before.function is not function or before.last not in sys.modules:
        before = _Looked(function, "", ())
    modules = [sys.modules.get(each) for each in since(before.last)]
    found = [each for each in modules if each is not None and getattr(each, "__dict__", {}).get(name) is function]
    _LOOKED[key] = _Looked(function, latest(), (*before.found, *found))
    return _LOOKED[key].found


def look(wanted: Iterable[Named]) -> None:
    """Look for these functions in all modules that were not looked at yet."""
    for owner, name in wanted:
        importers(owner, name)


def look_again() -> None:
    """Look at all modules for what was asked for before: imports may have put a function into one that was there."""
    again = [(sys.modules[owner], name) for owner, name in _LOOKED if owner in sys.modules]
    _LOOKED.clear()
    look(again)
