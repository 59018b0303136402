"""Proofs and recordings kept on disk, found by what they depend on and believed because this user's key signed them.

An entry holds the report of a pair that was PROVED, or the recording of a program. The name of a proof is a hash of the
content of both plans, of the settings, of Verdict's own sources and of what they run on. The signature covers name and
content, so an entry that is damaged, forged or put under another name is not believed: it is made again.
"""

import hashlib
import hmac
import json
import os
import pickle
import platform
import secrets
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from verdict.batches.question import Settings
from verdict.batches.version import RUNS_ON, version_here
from verdict.errors import UsageError
from verdict.report import Report, Verdict

FOLDER, KEY = "VERDICT_CACHE", "VERDICT_CACHE_KEY"
"""Variables that name the folder of the cache, and the file of the key."""
KEY_BYTES = 32
"""The length of the key, at least: that of the hash, beyond which nothing is gained."""
SIGNATURE_BYTES = hashlib.sha256().digest_size
ONE_IN = 16
"""Of so many entries that are used one is proved again, on average: few enough to cost little in every run, enough for
a wrong one to be seen within weeks of daily runs."""


class Entry(NamedTuple):
    """What is kept of a pair that was proved. known: the denied assumptions that its plans know."""

    report: Report
    known: frozenset[str]


class Cache(NamedTuple):
    """A folder of entries, and the key that signs them."""

    folder: Path
    key: bytes


def opened(folder: str | None) -> Cache:
    """The cache in this folder; without one, where the variable says, or in the user's folder for caches."""
    where = folder or os.environ.get(FOLDER)
    return Cache(Path(where) if where else _of_user("XDG_CACHE_HOME", ".cache") / "verdict", _key())


def name_of(contents: Sequence[bytes], called: Sequence[str], settings: Settings, version: str) -> str:
    """The name of the entry of a pair of plans with these contents, which its report calls so.

    Limits of time are left out: what is proved within one is proved.
    """
    asked = settings._replace(time_limit=0.0)
    hashes = [hashlib.sha256(content).hexdigest() for content in contents]
    runs_on = [platform.python_version(), platform.machine(), *(version_here(name) for name in RUNS_ON)]
    told = json.dumps([version, runs_on, asked, list(called), hashes])
    return hashlib.sha256(told.encode()).hexdigest()


def is_sampled(name: str, seed: int, one_in: int = ONE_IN) -> bool:
    """Whether the entry is one of those that are made again."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8]) % one_in == 0


def get(cache: Cache, name: str) -> Entry | None:
    """The proof of this name, if there is one and this key signed it."""
    payload = get_bytes(cache, name)
    return None if payload is None else Entry(*pickle.loads(payload))


def get_bytes(cache: Cache, name: str) -> bytes | None:
    """What is kept by this name, if this key signed it. Nothing in it is looked at before that."""
    try:
        content = _path(cache, name).read_bytes()
    except OSError:
        return None
    signature, payload = content[:SIGNATURE_BYTES], content[SIGNATURE_BYTES:]
    if not hmac.compare_digest(signature, _signature(cache, name, payload)):
        return None
    return payload


def put(cache: Cache, name: str, entry: Entry) -> None:
    """Keep what was proved. Raises UsageError where it cannot be written."""
    if entry.report.verdict is not Verdict.PROVED:
        raise ValueError("only proofs are kept")
    put_bytes(cache, name, pickle.dumps(tuple(entry)))


def put_bytes(cache: Cache, name: str, payload: bytes) -> None:
    """Keep some content, signed. Raises UsageError where it cannot be written."""
    path = _path(cache, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _write(path, _signature(cache, name, payload) + payload)
    except OSError as error:
        raise UsageError(str(path), f"the cache cannot be written: {error.strerror}", "give --no-cache") from None


def drop(cache: Cache, name: str) -> None:
    """Keep an entry no longer."""
    with suppress(OSError):
        _path(cache, name).unlink()


def _path(cache: Cache, name: str) -> Path:
    return cache.folder / name[:2] / name


def _signature(cache: Cache, name: str, payload: bytes) -> bytes:
    return hmac.digest(cache.key, name.encode() + payload, "sha256")


def _of_user(variable: str, otherwise: str) -> Path:
    """The user's folder of one kind. Raises UsageError where the user has no home."""
    folder = os.environ.get(variable)
    try:
        return Path(folder) if folder else Path.home() / otherwise
    except RuntimeError:
        raise UsageError("the cache", "this user has no home folder", f"set {FOLDER} and {KEY}") from None


def _key() -> bytes:
    """The user's key, made where there is none. Raises UsageError where others may read or write it."""
    where = os.environ.get(KEY)
    path = Path(where) if where else _of_user("XDG_CONFIG_HOME", ".config") / "verdict" / "cache.key"
    try:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):
                _create(path, secrets.token_bytes(KEY_BYTES))
        told, key = path.stat(), path.read_bytes()
    except OSError as error:
        raise UsageError(str(path), f"the cache's key cannot be read: {error.strerror}", "give --no-cache") from None
    if told.st_mode & 0o077 or told.st_uid != os.geteuid():
        raise UsageError(str(path), "others than you may use the cache's key", f"chmod 600 {path}, or remove it")
    if len(key) < KEY_BYTES:
        raise UsageError(str(path), f"the cache's key has fewer than {KEY_BYTES} bytes", "remove it")
    return key


def _create(path: Path, content: bytes) -> None:
    """Write a private file that is not there yet, whole: of two that do so at once one fails."""
    beside = _beside(path, content)
    try:
        os.link(beside, path)
    finally:
        os.unlink(beside)


def _write(path: Path, content: bytes) -> None:
    os.replace(_beside(path, content), path)


def _beside(path: Path, content: bytes) -> str:
    """A private file with this content, in the same folder."""
    file, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    with os.fdopen(file, "wb") as opened_file:
        opened_file.write(content)
    return name
