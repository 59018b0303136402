"""Compressed files: recognised by their first bytes, unpacked within bounds of size and memory."""

import gzip
import lzma
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import zstandard

from verdict.errors import PlanFileError

MOST_BYTES = 2 << 30
"""The most bytes that a plan may have after unpacking."""
MOST_WINDOW = 1 << 28
"""The most memory that unpacking may take beside its result."""
MOST_LAYERS = 2
"""A compressed file may hold a compressed file once."""

_STEP = 4096
"""Bytes of input at a time: none of the formats makes more than about 128 MiB of so many."""


class Packing(NamedTuple):
    """A way to compress: its first bytes, a fresh decompressor, the errors it raises, and how to compress."""

    name: str
    suffix: str
    magic: bytes
    unpacker: Callable[[], Any]
    error: type[Exception]
    pack: Callable[[bytes], bytes]


def _unzstd() -> Any:
    return zstandard.ZstdDecompressor(max_window_size=MOST_WINDOW).decompressobj()


PACKINGS = (
    Packing(
        "xz",
        ".xz",
        b"\xfd7zXZ\x00",
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_WINDOW),
        lzma.LZMAError,
        lambda data: lzma.compress(data, preset=6),
    ),
    Packing(
        "gzip",
        ".gz",
        b"\x1f\x8b",
        lambda: zlib.decompressobj(wbits=31),
        zlib.error,
        lambda data: gzip.compress(data, mtime=0),
    ),
    Packing(
        "zstd",
        ".zst",
        b"\x28\xb5\x2f\xfd",
        _unzstd,
        zstandard.ZstdError,
        lambda data: zstandard.ZstdCompressor(level=10, write_content_size=True).compress(data),
    ),
)


def unpack(data: bytes, source: str, most: int = MOST_BYTES) -> bytes:
    """`data` without its compression, if it has any. Raises PlanFileError where it is damaged or too large."""
    for _ in range(MOST_LAYERS):
        packing = _packing(data)
        if packing is None:
            return data
        data = _unpacked(data, packing, source, most)
    if _packing(data) is not None:
        raise PlanFileError(source, f"the file is compressed more than {MOST_LAYERS} times over")
    return data


def packing_of(suffix: str) -> Packing | None:
    """The packing whose file names end in `suffix`."""
    return next((packing for packing in PACKINGS if packing.suffix == suffix), None)


def _packing(data: bytes) -> Packing | None:
    return next((packing for packing in PACKINGS if data.startswith(packing.magic)), None)


def _unpacked(data: bytes, packing: Packing, source: str, most: int) -> bytes:
    found = bytearray()
    rest = memoryview(data)
    while rest:
        unpacker = packing.unpacker()
        while not unpacker.eof:
            if not rest:
                raise PlanFileError(source, f"the {packing.name} data ends early", "the file is cut off: copy it again")
            try:
                found += unpacker.decompress(rest[:_STEP])
            except (packing.error, MemoryError) as error:
                raise PlanFileError(source, f"the {packing.name} data is damaged: {error}") from None
            rest = rest[_STEP:]
            if len(found) > most:
                raise PlanFileError(source, f"the {packing.name} data unpacks to more than {most} bytes")
        rest = memoryview(bytes(unpacker.unused_data) + bytes(rest)) if unpacker.unused_data else rest
        if len(rest) and not rest.tobytes().strip(b"\x00"):
            break
    return bytes(found)
