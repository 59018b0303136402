"""c - b**t, positive where c >= 1, 0 < b < 1 and t > 0: what a moving average that began at zero is divided by."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from verdict.ops.shaken import is_real
from verdict.ops.signs import POSITIVE


class Made(NamedTuple):
    """What makes a value. read: the values that it is made of."""

    op: str
    attrs: Mapping[str, Any]
    read: tuple[int, ...]


def is_left(made: Made, makers: Mapping[int, Made], signs: Mapping[int, int]) -> bool:
    """Whether what is made is such a difference. makers, signs: of values, as far as they are known."""
    if made.op != "hlo.subtract" or len(made.read) != 2:
        return False
    whole, power = (makers.get(value) for value in made.read)
    if power is None or power.op != "hlo.power" or len(power.read) != 2:
        return False
    base, exponent = power.read
    small = all(0 < number < 1 for number in _numbers(makers.get(base)))
    counted = makers.get(exponent)
    if counted is not None and counted.op == "hlo.convert" and is_real(counted.attrs["dtype"]):
        (exponent,) = counted.read
    return small and signs.get(exponent) == POSITIVE and all(number >= 1 for number in _numbers(whole))


def _numbers(made: Made | None) -> tuple[float, ...]:
    """The numbers of a constant; of anything else, one that is none of those that are asked for."""
    return tuple(made.attrs["values"]) if made is not None and made.op == "hlo.constant" else (-1.0,)
