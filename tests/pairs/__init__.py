"""Bug pairs: small generated plans with an edit in each, and what must be said of them (backends/pairs)."""

from pathlib import Path

from verdict.backends import pairs

FOLDER = Path(__file__).resolve().parent


def load(name):
    """The pair of a file."""
    return pairs.load(FOLDER, name)


def names():
    """All pairs."""
    return pairs.names(FOLDER)
