"""Clocks that are apart from rank to rank, as those of processes are that begin one after the other.

Ranks that are recorded at once would read the same second, and what is made of it, a seed say, would be one on all.
"""

import ctypes
import datetime
import gc
import time
from typing import Any

APART = 61
"""By how many seconds one rank's clocks are ahead of those of the rank before: no seconds nor minutes are equal."""


def enter(rank: int) -> None:
    """The clocks that tell the time of day are those of this rank, for what asks them from now on."""
    ahead, seconds, nanoseconds = APART * rank, time.time, time.time_ns
    time.time = lambda: seconds() + ahead
    time.time_ns = lambda: nanoseconds() + ahead * 10**9
    told = {
        "now": classmethod(lambda cls, tz=None: cls.fromtimestamp(seconds() + ahead, tz)),
        "today": classmethod(lambda cls: cls.fromtimestamp(seconds() + ahead)),
        "utcnow": classmethod(lambda cls: cls.fromtimestamp(seconds() + ahead, datetime.UTC).replace(tzinfo=None)),
    }
    _tell(datetime.datetime, told)


def _tell(moment: type, told: dict[str, Any]) -> None:
    """Give a type of Python's other methods. It stays the type that it is: extensions (pandas) inherit from it in C,
    and one in its place, of another size, would end the process. Its table takes what Python refuses to set.
    """
    (table,) = gc.get_referents(vars(moment))
    table.update(told)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(moment))
