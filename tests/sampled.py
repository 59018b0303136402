"""Of many cases that cost much and are alike, the suite runs a few, and all of them where VERDICT_WHOLE=1 is set."""

import os
from collections.abc import Iterable
from typing import Any

WHOLE = os.environ.get("VERDICT_WHOLE", "") == "1"
"""Whether all cases are run."""


def sampled(cases: Iterable[Any], count: int) -> tuple[Any, ...]:
    """`count` of the cases, as far from each other as can be; all of them where that is asked for."""
    every = tuple(cases)
    if WHOLE or len(every) <= count:
        return every
    return tuple(every[k * len(every) // count] for k in range(count))


def up_to(whole: int, few: int) -> int:
    """How many of something that is drawn are drawn: all of them, or a few."""
    return whole if WHOLE else few
