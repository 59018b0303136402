"""Programs whose recordings are kept are not recorded, but for a sample; what is recorded is kept."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from verdict.backends.torch.evidence import changed
from verdict.backends.torch.kept import Manner, from_bytes, name_of, same, to_bytes, unkeepable
from verdict.backends.torch.launch import Recorded, Target, environment_of
from verdict.errors import UsageError, VerdictError

Side = tuple[Target, int]
"""A program and its number of ranks."""
Answer = Recorded | VerdictError | RuntimeError


class Shelf(Protocol):
    """Where recordings are kept, and which of them are made again."""

    def get(self, name: str) -> bytes | None:
        """What is kept by this name, and was kept by this user."""

    def put(self, name: str, content: bytes) -> None:
        """Keep it. Raises UsageError where it cannot be written."""

    def drop(self, name: str) -> None:
        """Keep it no longer."""

    def is_sampled(self, name: str) -> bool:
        """Whether it is made again although it is kept."""


class Kept(NamedTuple):
    """What is known of each program. used: how many recordings were kept ones; again: how many of these were made
    again; otherwise: how many of those came out otherwise, after which no kept one is believed. unkept: why nothing
    could be written, "" where it could. always: of programs that are recorded every time, why.
    """

    found: Mapping[Side, Answer]
    used: int = 0
    again: int = 0
    otherwise: int = 0
    unkept: str = ""
    always: Mapping[Side, str] = {}


def record_or_reuse(
    sides: Sequence[Side], manner: Manner, record: Callable[[Sequence[Side]], list[Answer]], shelf: Shelf
) -> Kept:
    """What is known of each program. record: makes the recordings of several, or tells why there are none."""
    names = {side: name_of(*side, manner) for side in sides}
    kept = {side: each for side, name in names.items() if (each := _fresh(shelf, name)) is not None}
    sample = [side for side in kept if shelf.is_sampled(names[side])]
    made = _made(record, [side for side in sides if side not in kept or side in sample])
    wrong = [side for side in sample if not _agrees(made[side], kept[side])]
    used = len(kept)
    for side in wrong:
        shelf.drop(names[side])
    if wrong:
        made |= _made(record, [side for side in kept if side not in sample])
        kept = {}
    always, unkept = {}, ""
    for side, answer in made.items():
        if not isinstance(answer, Recorded) or side in kept:
            continue
        why = unkeepable(answer, side[1], manner.confirm) or _other_now(names[side], side, manner)
        if why:
            always[side] = why
            continue
        try:
            shelf.put(names[side], to_bytes(answer))
        except UsageError as error:
            unkept = str(error)
    return Kept({**made, **kept}, used, len(sample), len(wrong), unkept, always)


def _fresh(shelf: Shelf, name: str) -> Recorded | None:
    """The recording of this name, if all that it was seen to depend on is what it was."""
    content = shelf.get(name)
    if content is None:
        return None
    recorded = from_bytes(content)
    return None if changed(recorded.seen, environment_of()) else recorded


def _made(record: Callable[[Sequence[Side]], list[Answer]], sides: Sequence[Side]) -> dict[Side, Answer]:
    return dict(zip(sides, record(sides), strict=True)) if sides else {}


def _agrees(made: Answer, kept: Recorded) -> bool:
    return isinstance(made, Recorded) and same(made, kept)


def _other_now(name: str, side: Side, manner: Manner) -> str:
    """Whether what a name is made of changed while the program was recorded, as a clause."""
    return "" if name_of(*side, manner) == name else "its file changed while it was recorded"
