"""Of many cases that cost much and are alike, the suite runs a few, and all of them where VERDICT_WHOLE=1 is set."""

import os
from collections.abc import Iterable
from typing import Any
from zlib import crc32

WHOLE = os.environ.get("VERDICT_WHOLE", "") == "1"
"""Whether all cases are run."""


def sampled(cases: Iterable[Any], count: int) -> tuple[Any, ...]:
    """`count` of the cases, as far from each other as can be; all of them where that is asked for."""
    every = tuple(cases)
    if WHOLE or len(every) <= count:
        return every
    return tuple(every[k * len(every) // count] for k in range(count))


def one_of(count: int) -> bool:
    """Whether the test that runs is one of those that are chosen, one of so many: always the same ones."""
    return WHOLE or crc32(os.environ["PYTEST_CURRENT_TEST"].encode()) % count == 0


def up_to(whole: int, few: int) -> int:
    """How many of something that is drawn are drawn: all of them, or a few."""
    return whole if WHOLE else few
