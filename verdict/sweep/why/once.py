"""What corrections of several kinds ask of one state, found once: most are asked for by more than one kind."""

from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from verdict.sweep.why.mend import State

T = TypeVar("T")


class Shared(Generic[T]):
    """What is made when it is first asked for, and kept."""

    def __init__(self, made: Iterator[T]) -> None:
        self._made, self._known = made, list[T]()

    def __iter__(self) -> Iterator[T]:
        at = 0
        while at < len(self._known) or self._more():
            yield self._known[at]
            at += 1

    def _more(self) -> bool:
        """Whether one more is made."""
        before = len(self._known)
        self._known.extend(islice(self._made, 1))
        return len(self._known) > before


def shared(state: State, key: Hashable, made: Callable[[], Iterator[T]]) -> Iterator[T]:
    """What is made of a state under a key, by the first who asks for it."""
    if key not in state.asked:
        state.asked[key] = Shared(made())
    return iter(state.asked[key])
