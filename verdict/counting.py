"""Who is told how far work is."""

from collections.abc import Callable

Progress = Callable[[int, int, str], None]
"""Told that so many of so many are done, and of what, in the plural: `progress(3, 4, "stages")`."""
Percent = Callable[[int], None]
"""Told how much is done, in percent."""


def uncounted(done: int, total: int, counted: str) -> None:
    """Nobody is told."""


def unheard(percent: int) -> None:
    """Nobody is told."""
