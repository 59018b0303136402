"""Ask questions in a process of its own, which may die of one without ending the campaign."""

import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from scripts.campaigns.lines import Campaign, Line, asked, limit_memory

WALL = 10
"""How many times as long as its limit of processor time a question may take by the clock."""


class Asker:
    """One process for one campaign, made anew where it died. make: the campaign, in that process."""

    def __init__(self, name: str, make: Callable[[], Campaign], seed: int, out: Path, seconds: float) -> None:
        self.name, self._make, self._seed, self._out, self._seconds = name, make, seed, out, seconds
        self._process: multiprocessing.Process | None = None
        self._pipe: Connection | None = None

    def ask(self, number: int) -> Line | None:
        """The line of a question; of one that ends the process, that it did."""
        if self._pipe is None:
            self._begin()
        assert self._pipe is not None and self._process is not None
        self._pipe.send(number)
        try:
            if self._pipe.poll(self._seconds * WALL):
                return self._pipe.recv()
            why = "it took too long by the clock"
        except EOFError:
            self._process.join(5)
            why = f"the process died of it ({self._process.exitcode})"
        self.close()
        return Line(self.name, self._seed, number, "", "", "unchecked", "", "", why, "", "", 0.0)

    def _begin(self) -> None:
        here, there = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_serve, args=(there, self._make, self._seed, self._out), daemon=False)
        self._process.start()
        there.close()
        self._pipe = here

    def close(self) -> None:
        """End the process."""
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None and self._process.is_alive():
            os.kill(self._process.pid or 0, signal.SIGTERM)
            self._process.join(5)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
        self._process = self._pipe = None


def _serve(pipe: Connection, make: Callable[[], Campaign], seed: int, out: Path) -> None:
    limit_memory()
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "log", "ab") as log:
        os.dup2(log.fileno(), 2)
    campaign = make()
    try:
        while True:
            pipe.send(asked(campaign, seed, pipe.recv(), out))
    except (EOFError, BrokenPipeError):
        pass
    finally:
        campaign.close()
