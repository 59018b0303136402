"""The content of a plan file, forgotten as it is read: that of a large file takes a tenth of the memory that reading
it does.
"""

import io
from collections import deque
from typing import NamedTuple

STEP = 1 << 20
"""Bytes that are forgotten at once: few enough to count for nothing."""


class Content(NamedTuple):
    """size: in bytes. file: what has not been read of it."""

    size: int
    file: io.BufferedReader

    @staticmethod
    def of(data: bytes) -> "Content":
        """The content that is `data`, of which the caller keeps nothing."""
        return Content(len(data), io.BufferedReader(_Forgotten(data), STEP))

    def head(self, size: int) -> bytes:
        """So many bytes from its beginning, or all that there are; they are read again. At most STEP."""
        return self.file.peek(size)[:size]


class _Forgotten(io.RawIOBase):
    """Bytes in pieces, each of which is forgotten when it was read."""

    def __init__(self, data: bytes) -> None:
        self._pieces = deque(data[start : start + STEP] for start in range(0, len(data), STEP))
        self._at = 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]
        """Read what there is of one piece; nothing at the end."""
        if not self._pieces:
            return 0
        found = self._pieces[0][self._at : self._at + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        if self._at == len(self._pieces[0]):
            self._pieces.popleft()
            self._at = 0
        return len(found)
