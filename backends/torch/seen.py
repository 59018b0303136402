"""Watch what a program depends on, from when it is loaded: files, folders, modules, variables of the environment, and
what cannot be looked at again (the clock, the network, other processes, code that is not Python's).

Every process that loads the program tells it, line by line, into a file of its own in one folder. What torch, numpy,
Python's own library and Verdict read for themselves is not told: their versions stand for it.
"""

import importlib.util
import json
import os
import platform
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import verdict
from verdict.backends.torch.environment import variables
from verdict.backends.torch.events import (
    ASKED,
    CLOCK,
    EVENTS,
    LOOK_ONLY,
    LOOKS,
    MACHINE,
    NATIVE,
    READERS,
    UNSEEN,
)
from verdict.backends.torch.evidence import (
    ALL,
    FILE,
    MODULE,
    NAMES,
    NEVER,
    THERE,
    VARIABLE,
    digest,
    hash_of,
    kind_of,
    names_in,
    origin_of,
)

_PYTHON = sysconfig.get_paths()["stdlib"] + os.sep
_OWN = str(Path(verdict.__file__).resolve().parent) + os.sep
_BACKENDS = str(Path(__file__).resolve().parents[1]) + os.sep
_SUITE = f"{_OWN}bugs{os.sep}suite{os.sep}"
"""Programs of users, which stand among Verdict's own files."""
_IMPORTS = ("<frozen importlib", "<frozen zipimport")
_OF_THE_SYSTEM = ("/proc/", "/sys/", "/dev/")
_MODES = os.O_WRONLY | os.O_RDWR


class Watched(NamedTuple):
    """What tells, and what need not be told: files below `own` are the recording's."""

    tell: Callable[[str, str, Any], None]
    own: str
    vouched: tuple[str, ...]


def watch(folder: Path) -> None:
    """From now on tell into a file of `folder` what this process is seen to depend on, until it ends."""
    folder.mkdir(exist_ok=True)
    file = os.open(folder / f"{os.getpid()}", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    told: set[str] = set()

    def tell(kind: str, what: str, was: Any) -> None:
        line = json.dumps((kind, what, was))
        if line not in told:
            told.add(line)
            os.write(file, f"{line}\n".encode())

    watched = Watched(tell, str(folder.parent) + os.sep, tuple(_vouched()))
    _patch_variables(watched)
    platform.uname()
    for reason, module, names in ASKED:
        for name in names:
            if hasattr(module, name):
                setattr(module, name, _asked(getattr(module, name), reason, watched))
    for name in LOOKS:
        setattr(os, name, _looked(getattr(os, name), watched))
    _patch_torch(watched)
    sys.addaudithook(_hook(watched))


def tell_never(folder: Path, why: str) -> None:
    """Tell that what this process found cannot be had again without it."""
    with open(folder / f"{os.getpid()}", "a") as file:
        file.write(json.dumps((NEVER, why, "")) + "\n")


def _vouched() -> Iterator[str]:
    """Folders for whose files a version stands."""
    yield from (_PYTHON, _OWN, _BACKENDS)
    for name in ("torch", "numpy"):
        module = sys.modules.get(name)
        if module is not None and module.__file__:
            yield str(Path(module.__file__).resolve().parent) + os.sep


def _is_vouched(path: str, watched: Watched) -> bool:
    """Whether nothing need be told of a file."""
    if path.startswith(_SUITE):
        return False
    if path.startswith(_PYTHON) and "site-packages" in path:
        return path.startswith(watched.vouched[1:])
    return path.startswith((*watched.vouched, watched.own))


def _hook(watched: Watched) -> Callable[[str, tuple[Any, ...]], None]:
    """What Python calls at each event."""
    state = threading.local()
    handlers: dict[str, Callable[..., None]] = {
        "open": _opened,
        "import": _imported,
        "os.listdir": _listed,
        "os.scandir": _listed,
        "ctypes.dlopen": _loaded,
    }

    def hook(event: str, given: tuple[Any, ...]) -> None:
        handler, reason = handlers.get(event), EVENTS.get(event)
        if (handler is None and reason is None) or getattr(state, "busy", False):
            return
        state.busy = True
        try:
            if handler is not None:
                handler(watched, *given)
            elif reason is not None:
                watched.tell(NEVER, reason, "")
        finally:
            state.busy = False

    return hook


def _opened(watched: Watched, path: Any, mode: Any, flags: Any, *_: Any) -> None:
    """A file is opened: its content is what it is now. What is written over is not read."""
    if not isinstance(path, str | bytes) or (isinstance(flags, int) and flags & _MODES == os.O_WRONLY):
        return
    file = os.path.abspath(os.fsdecode(path))
    if file.endswith(".pyc"):
        try:
            file = importlib.util.source_from_cache(file)
        except ValueError:
            watched.tell(NEVER, NATIVE, "")
            return
    if file.startswith(_OF_THE_SYSTEM):
        if file != os.devnull and _caller(watched) is not None:
            watched.tell(NEVER, MACHINE, "")
    elif not _is_vouched(file, watched):
        watched.tell(FILE, file, digest(file))
        if file.endswith(".py") and UNSEEN.search(_content(file)):
            watched.tell(NEVER, f"{CLOCK}, or a file by itself ({Path(file).name})", "")


def _content(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError:
        return b""


def _imported(watched: Watched, name: Any, *_: Any) -> None:
    """A module is looked for: where it is found, or that it is not there."""
    above = str(name).rpartition(".")[0]
    search = getattr(sys.modules.get(above), "__path__", ()) if above else sys.path
    paths = [os.path.abspath(each) for each in search]
    if above and all(_is_vouched(path + os.sep, watched) for path in paths):
        return
    origin = origin_of(str(name), paths)
    if str(name) == "_posixshmem" or (origin.endswith(".so") and not _is_vouched(origin, watched)):
        watched.tell(NEVER, f"{NATIVE} ({name})", "")
    if not (origin and _is_vouched(origin, watched)) or not above:
        watched.tell(MODULE, str(name), [paths, origin])


def _listed(watched: Watched, path: Any = None, *_: Any) -> None:
    """A folder is listed. What Python lists in order to import is told by the modules that it looks for."""
    if sys._getframe(2).f_code.co_filename.startswith(_IMPORTS):
        return
    folder = os.path.abspath("." if path is None else os.fsdecode(path)) if not isinstance(path, int) else ""
    if not folder:
        watched.tell(NEVER, "it lists a folder by its number", "")
    elif not _is_vouched(folder + os.sep, watched):
        watched.tell(NAMES, folder, names_in(folder))


def _caller(watched: Watched) -> str | None:
    """Where the innermost frame stands that is neither Python's own library nor this file; None where it is torch's,
    numpy's or ours.
    """
    frame: Any = sys._getframe(1)
    while frame is not None:
        file = str(frame.f_code.co_filename)
        inner = file == __file__ or file.startswith("<frozen")
        if not inner and not (file.startswith(_PYTHON) and "site-packages" not in file):
            return None if file.startswith(watched.vouched[1:]) else f"{Path(file).name}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _loaded(watched: Watched, name: Any, *_: Any) -> None:
    """A library is loaded: by the program itself, or by torch from a place for which no version stands."""
    file = os.path.abspath(os.fsdecode(name)) if isinstance(name, str | bytes) and os.sep in os.fsdecode(name) else ""
    if _caller(watched) is not None or (file and not _is_vouched(file, watched)):
        watched.tell(NEVER, f"{NATIVE} ({Path(file).name})" if file else NATIVE, "")


def _asked(function: Callable[..., Any], reason: str, watched: Watched) -> Callable[..., Any]:
    """A function whose answer is another one each time, or on each machine. What `platform` asks to tell the system's
    name is no matter of the machine.
    """

    def run(*args: Any, **kwargs: Any) -> Any:
        where = None if sys._getframe(1).f_code.co_filename == platform.__file__ else _caller(watched)
        if where is not None:
            watched.tell(NEVER, f"{reason} ({where})", "")
        return function(*args, **kwargs)

    return run


def _looked(function: Callable[..., Any], watched: Watched) -> Callable[..., Any]:
    """A function that asks what a file is; more than whether it is there is not looked at again."""

    def run(path: Any, *args: Any, **kwargs: Any) -> Any:
        where = None if isinstance(path, int) else _caller(watched)
        if where is not None:
            file = os.path.abspath(os.fsdecode(path))
            if not _asks_kind(sys._getframe(1)):
                watched.tell(NEVER, f"it asks for more of a file than whether it is there ({where})", "")
            elif not _is_vouched(file, watched):
                watched.tell(THERE, file, kind_of(file))
        return function(path, *args, **kwargs)

    for places in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if function in places:
            places.add(run)
    return run


def _asks_kind(frame: Any) -> bool:
    """Whether one of Python's functions asks that tells no more than what a file is."""
    if frame.f_code.co_name in LOOKS and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_code.co_name in LOOK_ONLY and frame.f_code.co_filename.startswith((_PYTHON, "<frozen"))


def _patch_torch(watched: Watched) -> None:
    """Tell of the files that torch opens by their paths, without an event of Python's."""
    import torch  # noqa: PLC0415  (the command line imports this file, and needs no torch)

    def told(*given: Any) -> None:
        for path in given:
            if isinstance(path, str | bytes | os.PathLike):
                file = os.path.abspath(os.fsdecode(path))
                watched.tell(FILE, file, digest(file))

    def reading(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            told(*args, *kwargs.values())
            return function(*args, **kwargs)

        return run

    class Reader(torch._C.PyTorchFileReader):  # type: ignore[misc]
        """Reads an archive, of which it tells the path."""

        def __init__(self, given: Any) -> None:
            told(given)
            super().__init__(given)

    for name in READERS:
        setattr(torch._C, name, reading(getattr(torch._C, name)))
    torch._C.PyTorchFileReader = Reader


def _patch_variables(watched: Watched) -> None:
    """Tell of each variable of the environment that is read what it was when the program was loaded."""
    began, own, kind = dict(os.environ), variables(0, 1), type(os.environ)
    get, iterate = kind.__getitem__, kind.__iter__

    def read(self: Any, key: Any) -> Any:
        name = os.fsdecode(key) if isinstance(key, str | bytes) else ""
        if name not in own:
            watched.tell(VARIABLE, name, hash_of(began.get(name)))
        return get(self, key)

    def names(self: Any) -> Any:
        watched.tell(ALL, "", hash_of(sorted(began.items())))
        return iterate(self)

    setattr(kind, "__getitem__", read)  # noqa: B010  (a method of a class of Python's)
    setattr(kind, "__iter__", names)  # noqa: B010
