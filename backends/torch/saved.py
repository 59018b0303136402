"""Files that a program writes and reads: `torch.save` and `torch.load`, and checkpoints, which are made by these.

A file that is written gets one more record: which storage in it holds which value of the recording. So what is read of
it, by whichever rank, in whatever order, from whatever file it was copied to, is known to be that value. The rank that
wrote sends it, the one that reads receives it (`delivered.py`).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import serialization
from torch.utils._python_dispatch import _disable_current_modes

from verdict.backends.torch.delivered import SAVED
from verdict.backends.torch.host import replaced
from verdict.backends.torch.memory import Unfollowed, value_of
from verdict.backends.torch.recorder import MOST_CONSTANTS, Recorder
from verdict.backends.torch.trace import UNMODELLED

_RECORD, _DATA = "verdict-recording", "data/"
"""The name of the record, and how those of torch's records of storages begin."""


@contextmanager
def files(recorder: Recorder, rank: int, recording: str) -> Iterator[None]:
    """What is written to files and read again is followed. recording: a name that all its ranks have, and no other."""
    known = _Files(recorder, rank, recording)
    functions: dict[str, Callable[..., Any]] = {
        "_save": known.save,
        "_load": known.load,
        "_legacy_load": known.load_otherwise,
    }
    with ExitStack() as stack:
        for name, function in functions.items():
            stack.enter_context(replaced(serialization, name, function))
        yield


class _Archive:
    """A file that torch writes or reads; it tells of the storages in it, by the names of their records."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.storages: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def write_record(self, name: str, data: Any, *size: Any) -> None:
        """A record is written."""
        if name.startswith(_DATA):
            self.storages[name] = getattr(data, "_untyped_storage", data)
        self._file.write_record(name, data, *size)

    def get_storage_from_record(self, name: str, *more: Any) -> Any:
        """A record is read, as a tensor."""
        found = self._file.get_storage_from_record(name, *more)
        self.storages[name] = found.untyped_storage()
        return found


class _Files:
    """torch's functions for files, and what they wrote in this recording, by number."""

    def __init__(self, recorder: Recorder, rank: int, recording: str) -> None:
        self._recorder, self._rank, self._recording = recorder, rank, recording
        self._written: list[int] = []
        self._save, self._load = serialization._save, serialization._load
        self._otherwise = serialization._legacy_load

    def save(self, held: Any, file: Any, *more: Any) -> None:
        """Write, and tell in the file what was written."""
        archive = _Archive(file)
        with _disable_current_modes():
            self._save(held, archive, *more)
        told = {name: self._told(storage) for name, storage in archive.storages.items()}
        text = json.dumps({"recording": self._recording, "rank": self._rank, "storages": told})
        file.write_record(_RECORD, text, len(text))

    def load(self, file: Any, *args: Any, overall_storage: Any = None, **given: Any) -> Any:
        """Read, and tell what was read. overall_storage: the file as memory, of which nothing could be told."""
        with _disable_current_modes():
            said = json.loads(file.get_record(_RECORD)) if file.has_record(_RECORD) else {}
            if said.get("recording") != self._recording:
                return self._load(file, *args, overall_storage=overall_storage, **given)
            archive = _Archive(file)
            found = self._load(archive, *args, **given)
        for name, storage in archive.storages.items():
            if said["storages"][name] is not None:
                self._holds(storage, said["rank"], *said["storages"][name])
        return found

    def load_otherwise(self, *args: Any, **given: Any) -> Any:
        """Read a file of the old form, in which nothing is told."""
        if self._recorder.draws.within:
            self._recorder.doubt("tensors are read from what was written in torch's old form")
        with _disable_current_modes():
            return self._otherwise(*args, **given)

    def _told(self, storage: Any) -> tuple[int, str, bool] | None:
        """The number and the type of what a storage holds, and whether that are known whole numbers; None of what was
        not made in the recording.
        """
        dtype, recorder = self._recorder.memory.dtype_in(storage), self._recorder
        if dtype is None or not storage.nbytes():
            return None
        whole = _whole(storage, dtype)
        try:
            value = recorder.read(whole)
        except Unfollowed as problem:
            (value,) = recorder.emit(UNMODELLED, (), (value_of(whole),), {"reason": str(problem)})
        self._written.append(value)
        recorder.emit("send", (value,), (), {SAVED: len(self._written) - 1})
        return len(self._written) - 1, dtype, value in recorder.tape.constant and _is_whole(whole)

    def _holds(self, storage: Any, rank: int, number: int, dtype: str, known: bool) -> None:
        """A storage holds what a rank wrote as `number`."""
        whole, recorder = _whole(storage, dtype), self._recorder
        if rank == self._rank:
            value = self._written[number]
        elif known:
            value = recorder.constant(whole)
        else:
            (value,) = recorder.emit("recv", (), (value_of(whole),), {"peer": rank, SAVED: number})
        recorder.memory.write(whole, value)


def _is_whole(tensor: Any) -> bool:
    """Whether these are few whole numbers, which no type rounds."""
    with _disable_current_modes():
        real = tensor.is_floating_point()
        return (
            not tensor.is_complex()
            and tensor.numel() <= MOST_CONSTANTS
            and (not real or bool((tensor.double() == tensor.double().round()).all()))
        )


def _whole(storage: Any, dtype: str) -> Any:
    """All of a storage as one tensor."""
    with _disable_current_modes(), torch.no_grad():
        made = torch.empty(0, dtype=getattr(torch, dtype))
        return made.set_(storage, 0, (storage.nbytes() // made.element_size(),), (1,))
