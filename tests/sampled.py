"""How much of the suite is run, by VERDICT_WHOLE: of what costs much and is alike, always the same few cases.

Unset, as in README's command: of the costly families that `tests/few.py` declares a few cases. `tests`, as CI runs it:
every test, of which some take a sample of what they go through. `1`: every test with all of that.
"""

import os
from collections.abc import Iterable
from typing import Any
from zlib import crc32

ASKED = os.environ.get("VERDICT_WHOLE", "")
EVERY_TEST, WHOLE = ASKED in ("tests", "1"), ASKED == "1"
"""Whether every test is run, and whether with all cases that it could take a sample of."""


def spread(cases: Iterable[Any], count: int) -> tuple[Any, ...]:
    """`count` of the cases, as far from each other as can be; all where there are no more."""
    every = tuple(cases)
    return every if len(every) <= count else tuple(every[k * len(every) // count] for k in range(count))


def sampled(cases: Iterable[Any], count: int) -> tuple[Any, ...]:
    """`count` of the cases; all of them where that is asked for."""
    return tuple(cases) if WHOLE else spread(cases, count)


def one_of(count: int) -> bool:
    """Whether the test that runs is one of those that are chosen, one of so many: always the same ones."""
    return WHOLE or crc32(os.environ["PYTEST_CURRENT_TEST"].encode()) % count == 0


def up_to(whole: int, few: int) -> int:
    """How many of something that is drawn are drawn: all of them, or a few."""
    return whole if WHOLE else few
