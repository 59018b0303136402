"""What is added up in coordinates, each as often as it is: of i + j - 5 the logical tensors i and j, and a number."""

from collections import Counter
from collections.abc import Iterable, Sequence

POSITION = -1
"""What stands for positions among coordinates: of any two axes they may be the same."""
NUMBER = -2
"""What stands for any number among what is added up."""
FAR = 1 << 26
"""So far from zero no coordinate is, and no number that is added to one: 31 of them add up to what 32 bits hold."""
MOST_TERMS = 31
"""So many are added up at most: sums at reduced shapes are smaller, and do not wrap around where full ones do."""
ONE = 1, 0
"""A coordinate as it is given: one that is added, none that is subtracted."""
WIDE = frozenset({"int64", "int32", "uint32", "float64", "float32"})
"""Types in which coordinates are added up."""


class Signs:
    """How many coordinates are added in tensors, and how many are subtracted."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[int, int]] = {}

    def together(self, logicals: Sequence[int], difference: bool) -> tuple[int, int]:
        """Of the sum of two tensors, or of their difference; of one alone, its own."""
        plus, minus = self._of.get(logicals[0], ONE)
        if len(logicals) < 2:
            return plus, minus
        more, less = self._of.get(logicals[1], ONE)[:: -1 if difference else 1]
        return plus + more, minus + less

    def most(self, logicals: Iterable[int]) -> tuple[int, int]:
        """Of what is one of several tensors."""
        each = [self._of.get(logical, ONE) for logical in logicals]
        return max(plus for plus, _ in each), max(minus for _, minus in each)

    def put(self, made: Iterable[int], signs: tuple[int, int]) -> None:
        """Say it of what a node makes; of what several make, the most."""
        for logical in made:
            before = self._of.get(logical, signs)
            self._of[logical] = max(before[0], signs[0]), max(before[1], signs[1])


def coordinates(added: Counter[int]) -> Counter[int]:
    """The coordinates among what is added up."""
    return Counter({each: times for each, times in added.items() if each != NUMBER})


def most_of(each: Iterable[tuple[int, Counter[int]]]) -> dict[int, Counter[int]]:
    """Under each number, how often at most anything is counted in what stands under it."""
    found: dict[int, Counter[int]] = {}
    for number, counted in each:
        found[number] = found.get(number, Counter()) | counted
    return found
