"""What a process of a launched program finds around it: torchrun's variables, and generators that nobody seeded.

Every rank is a process of its own under `torchrun`: what Python's and numpy's generators draw without a seed differs
from rank to rank.
"""

import os
import random
import sys
import sysconfig
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random.bit_generator as numpy_bits

from verdict.backends.torch import clocks, unordered

ADDRESS, PORT = "127.0.0.1", "29500"
_PYTHON = sysconfig.get_paths()["stdlib"]
_HAND_ON = frozenset({"random.py", "secrets.py", "uuid.py"})
"""Files of Python's that draw for whoever calls them."""


def variables(rank: int, ranks: int) -> dict[str, str]:
    """The variables that `torchrun` sets on one machine."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        "GROUP_RANK": "0",
        "GROUP_WORLD_SIZE": "1",
        "ROLE_RANK": str(rank),
        "ROLE_WORLD_SIZE": str(ranks),
        "ROLE_NAME": "default",
        "MASTER_ADDR": ADDRESS,
        "MASTER_PORT": PORT,
        "TORCHELASTIC_RESTART_COUNT": "0",
        "TORCHELASTIC_MAX_RESTARTS": "0",
        "TORCHELASTIC_RUN_ID": "none",
    }


class Generators:
    """Python's own generator, numpy's, and the system's: whether they are drawn from before somebody seeds them."""

    def __init__(self, seed: int) -> None:
        self._system = _System(seed)
        self._watched = [_Watched(random, "seed", "setstate", _python_state, seed)]
        self._watched.append(_Watched(np.random, "seed", "set_state", _numpy_state, seed))

    def drawn(self) -> bool:
        """Whether numbers were drawn that nobody seeded."""
        return self._system.drawn or any(each.drawn() for each in self._watched)

    def moved(self) -> bool:
        """Whether Python's own or numpy's are in another state than that with which they began here."""
        return any(each.moved() for each in self._watched)


class _Watched:
    """One generator, seeded here. owner: the module that has the functions `seed` and `restore`, which are replaced."""

    def __init__(self, owner: Any, seed: str, restore: str, state: Callable[[], Any], number: int) -> None:
        self._state, self._unseeded, self._number = state, False, number
        self._seed = getattr(owner, seed)
        self._begin()
        setattr(owner, seed, self._telling(self._seed))
        setattr(owner, restore, self._telling(getattr(owner, restore)))

    def drawn(self) -> bool:
        """Whether it was drawn from without a seed."""
        return self._unseeded or (self._own is not None and self._state() != self._own)

    def moved(self) -> bool:
        """Whether it is in another state than that with which it began."""
        return self._own is None or self._state() != self._own

    def _begin(self) -> None:
        self._seed(self._number)
        self._own = self._state()

    def _telling(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(value: Any = None, *more: Any) -> Any:
            self._unseeded = self.drawn()
            if value is None:
                return self._begin()
            self._own = None
            return function(value, *more)

        return run


class _System:
    """What stands for the system's own random bits, of which generators are made that get no seed.

    drawn: whether the program, or a package for it, asked for some. Python's own files (tempfile) may.
    """

    def __init__(self, seed: int) -> None:
        self.drawn = False
        self._bits = random.Random(seed)
        self._urandom, seeded = os.urandom, random.Random.seed

        def seed_of(instance: random.Random, value: Any = None, version: int = 2) -> None:
            seeded(instance, int.from_bytes(self._bytes(32)) if value is None else value, version)

        numpy_bits.randbits = self._number  # type: ignore[attr-defined]
        os.urandom = random._urandom = self._bytes  # type: ignore[attr-defined]
        random.Random.seed = seed_of  # type: ignore[assignment, method-assign]

    def _number(self, bits: int) -> int:
        return int.from_bytes(self._bytes((bits + 7) // 8)) >> -bits % 8

    def _bytes(self, count: int) -> bytes:
        file = _caller()
        if file.startswith(_PYTHON) and "site-packages" not in file:
            return self._urandom(count)
        self.drawn = True
        return self._bits.randbytes(count)


def _caller() -> str:
    """The file that draws: the innermost one that does not do so for others."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = str(frame.f_code.co_filename)
        if file != __file__ and not (file.startswith(_PYTHON) and Path(file).name in _HAND_ON):
            return file
        frame = frame.f_back
    return _PYTHON


def _python_state() -> Any:
    return random.getstate()


def _numpy_state() -> Any:
    state: Any = np.random.get_state(legacy=True)
    return state[0], state[1].tobytes(), *state[2:]


def enter(rank: int, ranks: int, salt: int = 0) -> Generators:
    """Be rank `rank` of `ranks` from now on. salt: of another process of the same rank, whose generators differ."""
    os.environ.update(variables(rank, ranks))
    unordered.enter(rank)
    clocks.enter(rank)
    return Generators(zlib.crc32(f"{rank} of {ranks}, {salt}".encode()))
