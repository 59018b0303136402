"""What a program's ranks import alike is imported once: in a process of which they are copies.

Each rank imports the user's files by itself, since they may ask which rank they are. The packages that these import
before anything else run are imported before, where that leaves no trace but modules.
"""

import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from verdict.backends.torch.environment import Generators, variables
from verdict.backends.torch.importers import look_again, since
from verdict.backends.torch.unordered import is_foreign
from verdict.child import GONE, Child, begin, kill, lasting, wait

_LOOKING = frozenset({"networkx", "fsspec"})
"""What torch depends on that looks among all variables for those of its own name when it is imported."""
_COPIED = frozenset({"jemalloc_bg_thd"})
"""Threads of an allocator (that of pyarrow, which pandas imports), which stops them before a process is copied and
begins them again in the copy: https://github.com/jemalloc/jemalloc/blob/dev/src/background_thread.c.
"""
Part = Callable[[bool], None]
"""Work that is told whether numbers that nobody seeds were drawn before it."""


def in_turn(statements: Sequence[str], folder: Path, parts: Sequence[Part]) -> None:
    """Do the parts, each in a copy of this process that has run the statements, with other numbers of generators that
    nobody seeds; in this process, one after the other, where there are none, or where they do more than to import.

    folder: that of the file which begins with them. Raises RuntimeError where a copy does not end well.
    """
    children = [begin(partial(_part, statements, folder, salt, part)) for salt, part in enumerate(parts) if statements]
    fit = [_is_fit(each) for each in children]
    if not statements or not all(fit):
        for each in children:
            kill(each)
        for part in parts:
            part(False)
        return
    for each in children:
        each.connection.send(True)
    for each in children:
        status = wait(each)
        if status:
            raise RuntimeError(f"the process that records ended with {status}")


def ahead(statements: Sequence[str], folder: Path, salt: int, part: Part) -> None:
    """Do a part in a copy of this process that has run the statements, if they do no more than to import; otherwise it
    is not done.
    """
    child = begin(partial(_part, statements, folder, salt, part))
    if _is_fit(child):
        child.connection.send(True)
        wait(child)
    else:
        kill(child)


def imported(last: str) -> list[str]:
    """The modules of packages, not of the user's files, that were imported since this one was, in their order."""
    found = []
    for name in since(last):
        spec = getattr(sys.modules.get(name), "__spec__", None)
        known = spec is not None and spec.name == name and spec.has_location and is_foreign(str(spec.origin))
        if known and all(map(str.isidentifier, name.split("."))):
            found.append(name)
    return found


def _part(statements: Sequence[str], folder: Path, salt: int, part: Part, asked: Any) -> None:
    """Import, say whether that is all that happened, and do the part when asked to."""
    generators = Generators(salt)
    asked.send(preload(statements, folder) and not generators.moved())
    look_again()
    asked.recv()
    part(generators.drawn())


def _is_fit(child: Child) -> bool:
    try:
        return bool(child.connection.recv())
    except GONE:
        return False


def preload(statements: Sequence[str], folder: Path) -> bool:
    """Run statements that import, as a file in `folder` would, and tell whether this process is as it was but for
    modules of packages: it has one thread, nobody asked which rank it is, torch's generator and its defaults are as
    they were, and nothing of the user's was imported. Folders of packages may be added behind all others that are
    searched: each copy that imports the same finds them there, too.
    """
    modules, torch_state, path = set(sys.modules), _torch_state(), list(sys.path)
    names = dict[str, Any]({"__name__": "verdict_leading"})
    sys.path.insert(0, str(folder))
    with _asking() as asked, lasting():
        try:
            for each in statements:
                exec(each, names)
        except BaseException:
            return False
    sys.path.remove(str(folder))
    users = [name for name in sys.modules.keys() - modules if _is_users(sys.modules[name])]
    added = sys.path[len(path) :]
    searched = sys.path[: len(path)] == path and all(is_foreign(str(Path(each).resolve())) for each in added)
    return not asked and not users and searched and _torch_state() == torch_state and _threads() == 1


def _torch_state() -> tuple[Any, ...]:
    defaults = torch.get_default_dtype(), torch.get_default_device(), torch.is_grad_enabled(), torch.get_num_threads()
    return torch.get_rng_state().numpy().tobytes(), *defaults, torch.are_deterministic_algorithms_enabled()


def _asker() -> str:
    """The package that goes through all variables: the first one that is none of Python's."""
    frame = sys._getframe(2)
    while frame.f_back is not None and _package(frame) in sys.stdlib_module_names:
        frame = frame.f_back
    return _package(frame)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_users(module: Any) -> bool:
    file = getattr(module, "__file__", None)
    return isinstance(file, str) and not is_foreign(str(Path(file).resolve()))


def _threads() -> int:
    """How many threads this process has, without those that a copy of it does well without."""
    tasks = Path("/proc/self/task")
    if not tasks.is_dir():
        return threading.active_count()
    names = []
    for task in tasks.iterdir():
        with suppress(OSError):  # of a thread that has ended since
            names.append((task / "comm").read_text().strip())
    return sum(name not in _COPIED for name in names)


@contextmanager
def _asking() -> Iterator[list[str]]:
    """What is asked of the variables of a launched program, or of all variables at once."""
    asked, kind, own = list[str](), type(os.environ), variables(0, 1)
    get, iterate = kind.__getitem__, kind.__iter__

    def read(self: Any, key: Any) -> Any:
        asked.extend([key] if key in own else [])
        return get(self, key)

    def names(self: Any) -> Any:
        asked.extend([] if _asker() in _LOOKING else [""])
        return iterate(self)

    setattr(kind, "__getitem__", read)  # noqa: B010  (a method of a class of Python's)
    setattr(kind, "__iter__", names)  # noqa: B010
    try:
        yield asked
    finally:
        setattr(kind, "__getitem__", get)  # noqa: B010
        setattr(kind, "__iter__", iterate)  # noqa: B010
