"""Clocks that are apart from rank to rank, as those of processes are that begin one after the other.

Ranks that are recorded at once would read the same second, and what is made of it, a seed say, would be one on all.
"""

import datetime
import time
from typing import Any

APART = 61
"""By how many seconds one rank's clocks are ahead of those of the rank before: no seconds nor minutes are equal."""


def enter(rank: int) -> None:
    """The clocks that tell the time of day are those of this rank, for what asks them from now on."""
    ahead, seconds, nanoseconds, moment = APART * rank, time.time, time.time_ns, datetime.datetime
    told: dict[str, Any] = {
        "now": classmethod(lambda cls, tz=None: cls.fromtimestamp(seconds() + ahead, tz)),
        "today": classmethod(lambda cls: cls.fromtimestamp(seconds() + ahead)),
        "utcnow": classmethod(lambda cls: cls.fromtimestamp(seconds() + ahead, datetime.UTC).replace(tzinfo=None)),
        "__module__": moment.__module__,
    }
    time.time = lambda: seconds() + ahead
    time.time_ns = lambda: nanoseconds() + ahead * 10**9
    datetime.datetime = _Like(moment.__name__, (moment,), told)  # type: ignore[assignment, misc]


class _Like(type):
    """What is a moment for Python is one."""

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, cls.__base__)  # type: ignore[arg-type]
