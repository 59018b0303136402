"""Integers at which a plan makes numbers: random masks cover some row as a whole, and nothing is a number then."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from verdict.inputs.domains import Domain
from verdict.inputs.values import MOST
from verdict.ops import Array

PIECES = 8
"""In how many parts the random integers of a tensor are tried: a mask covers a row in one or two of them, and as many
runs as there are parts are few.
"""

Values = Mapping[int, Array]


def defined(
    values: Values, integers: Mapping[int, Domain], makes_numbers: Callable[[Values], bool]
) -> Values | None:
    """What a plan is given, with so many integers of one tensor made one and the same that all it declares are numbers;
    None where that makes none, whichever tensor it is.

    integers: the `domains` of the plan. makes_numbers: whether all that the plan declares are numbers then.
    """
    for index, domain in integers.items():
        for same in _constants(domain):
            plain = {**values, index: same}
            if makes_numbers(plain):
                return _nearer(plain, index, values[index], makes_numbers)
    return None


def _constants(domain: Domain) -> Iterator[Array]:
    """Arrays in which all elements of a kind are one integer: an end of what they may be, or a truth value."""
    pools = [
        [n for n in dict.fromkeys((known.hull[1], known.hull[0], 1, 0)) if n is not None and known.holds(n)]
        for known in domain.kinds
    ]
    pools = [[n for n in pool if abs(n) < MOST] for pool in pools]
    for turn in range(max(map(len, pools), default=0)):
        if all(pools):
            yield np.asarray([pool[turn % len(pool)] for pool in pools], dtype=np.int64)[domain.place]


def _nearer(plain: Values, index: int, wanted: Array, makes_numbers: Callable[[Values], bool]) -> Values:
    """The values with as many integers of a tensor as they were drawn as leave all numbers."""
    other = np.random.default_rng(index).permutation(np.flatnonzero(plain[index].ravel() != wanted.ravel()))
    for piece in np.array_split(other, PIECES):
        tried = plain[index].copy()
        tried.flat[piece] = wanted.flat[piece]
        if piece.size and makes_numbers({**plain, index: tried}):
            plain = {**plain, index: tried}
    return plain
