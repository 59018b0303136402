"""What is known of the values of tensors while whole plans are reduced: an axis may shrink where its values are free.

    made from no input                         read from the inputs
    zero         all elements are zero         given       ids of the data, as they come
    uniform      all elements are one number   shifted     sums and differences of ids and coordinates
    positions    coordinates along an axis     truth       truth values, as such or as zeros and ones
    offset       shifted positions             level       other numbers of which there are few
    exact        what it holds at an element   count       how many of some axes are true
                 depends on no other axis      weighed     numbers made of counts, and sums of levels
    table        any other numbers             data        numbers that may be anything

A proof at reduced shapes speaks for the full ones where what varies along an axis may be anything. Of the rest, ids and
positions shrink as the axis that they name elements of; counts keep as many elements as they are compared with; tables
are the same in both plans, element by element at full size, and stand for any numbers then (tables.py).
"""

from enum import Enum


class State(Enum):
    """What the elements of a tensor are."""

    ZERO = "zero"
    UNIFORM = "uniform"
    POSITIONS = "positions"
    OFFSET = "offset"
    EXACT = "exact"
    TABLE = "table"
    GIVEN = "given"
    SHIFTED = "shifted"
    TRUTH = "truth"
    LEVEL = "level"
    COUNT = "count"
    WEIGHED = "weighed"
    DATA = "data"


POSITIONS = frozenset({State.POSITIONS, State.OFFSET})
IDS = frozenset({State.GIVEN, State.SHIFTED}) | POSITIONS
"""Coordinates along an axis."""
PLAIN = frozenset({State.ZERO, State.UNIFORM, State.EXACT})
"""Made from no input, and at reduced shapes what it is at full ones, element by element."""
CONSTANT = PLAIN | POSITIONS | {State.TABLE}
"""Made from no input."""
COUNTS = frozenset({State.COUNT, State.WEIGHED})
FEW = COUNTS | {State.TRUTH, State.LEVEL}
"""Read from inputs, and of few values."""


def given_state(dtype: str) -> State | None:
    """What an input of some type is, where its values are followed."""
    if dtype.startswith(("int", "uint")):
        return State.GIVEN
    return State.TRUTH if dtype == "bool" else None


def together(states: frozenset[State]) -> State:
    """What coordinates are that are put side by side, added or subtracted."""
    if len(states) == 1:
        return next(iter(states))
    return State.OFFSET if states <= POSITIONS else State.SHIFTED
