"""Which integers a tensor may hold: those of its type, those that a table has, those that a plan states."""

from typing import NamedTuple

BITS = {"uint8": 8, "int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32}
"""The types that wrap around, and their width."""
TRUTH = "bool"


class Integers(NamedTuple):
    """The integers from `low` to `high`, both included and None for no bound, and those `beside` them."""

    low: int | None = None
    high: int | None = None
    beside: tuple[int, ...] = ()

    @property
    def size(self) -> int | None:
        """How many they are, None where there is no end of them."""
        if self.low is None or self.high is None:
            return None
        return max(0, self.high - self.low + 1) + len(self.beside)

    def holds(self, value: int) -> bool:
        """Whether an integer is one of them."""
        inside = (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        return inside or value in self.beside

    def both(self, other: "Integers") -> "Integers":
        """The integers that are in both."""
        low = max((end for end in (self.low, other.low) if end is not None), default=None)
        high = min((end for end in (self.high, other.high) if end is not None), default=None)
        inner = Integers(low, high)
        beside = {n for n in (*self.beside, *other.beside) if self.holds(n) and other.holds(n) and not inner.holds(n)}
        return Integers(low, high, tuple(sorted(beside)))

    @property
    def hull(self) -> tuple[int | None, int | None]:
        """The least and the greatest of them, None where there is none."""
        low = None if self.low is None else min((self.low, *self.beside))
        high = None if self.high is None else max((self.high, *self.beside))
        return low, high

    def at(self, place: int) -> int:
        """The integer that stands at a place of the list: those from low to high, then those beside."""
        low, high = self.low or 0, self.high or 0
        inside = max(0, high - low + 1)
        return low + place if place < inside else self.beside[place - inside]


def of_type(dtype: str) -> Integers | None:
    """The integers that a tensor of a type may hold; None for a type of other numbers."""
    if dtype == TRUTH:
        return Integers(0, 1)
    if dtype in BITS:
        low = 0 if dtype.startswith("u") else -(1 << BITS[dtype] - 1)
        return Integers(low, low + (1 << BITS[dtype]) - 1)
    if dtype.startswith("uint"):
        return Integers(0)
    return Integers() if dtype.startswith("int") else None
