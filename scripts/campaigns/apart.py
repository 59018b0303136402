"""Ask questions in a process of its own, which may die of one without ending the campaign."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from scripts.campaigns.lines import Campaign, Line, asked, limit_memory
from verdict.child import GONE, Child, begin, ended, kill

WALL = 10
"""How many times as long as its limit of processor time a question may take by the clock."""
ENDING = 5.0
"""Seconds that a process gets to put away what its campaign made, when it is told to end."""


class Asker:
    """One process for one campaign, made anew where it died. make: the campaign, in that process."""

    def __init__(self, name: str, make: Callable[[], Campaign], seed: int, out: Path, seconds: float) -> None:
        self.name, self._make, self._seed, self._out, self._seconds = name, make, seed, out, seconds
        self._child: Child | None = None

    def ask(self, number: int) -> Line | None:
        """The line of a question; of one that ends the process, that it did."""
        if self._child is None:
            self._child = begin(partial(_serve, make=self._make, seed=self._seed, out=self._out))
        pipe = self._child.connection
        pipe.send(number)
        try:
            if pipe.poll(self._seconds * WALL):
                found: Line | None = pipe.recv()
                return found
            why = "it took too long by the clock"
        except GONE:
            why = "the process died of it"
        self.close()
        return Line(self.name, self._seed, number, "", "", "unchecked", "", "", why, "", "", 0.0)

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        child.connection.close()
        until = time.monotonic() + ENDING
        while ended(child) is None:
            if time.monotonic() > until:
                kill(child)
                return
            time.sleep(0.01)


def _serve(pipe: Any, make: Callable[[], Campaign], seed: int, out: Path) -> None:
    limit_memory()
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "log", "ab") as log:
        os.dup2(log.fileno(), 2)
    campaign = make()
    try:
        with suppress(*GONE):
            while True:
                pipe.send(asked(campaign, seed, pipe.recv(), out))
    finally:
        campaign.close()
