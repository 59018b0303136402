"""Bug pairs: small generated plans with an edit in each, and what must be said of them (backends/pairs)."""

from functools import cache
from pathlib import Path

from tests.builders import ask
from verdict.backends import pairs

FOLDER = Path(__file__).resolve().parent


def load(name):
    """The pair of a file."""
    return pairs.load(FOLDER, name)


def names():
    """All pairs."""
    return pairs.names(FOLDER)


@cache
def report_on(name):
    """The report on the pair of a file, made once."""
    return ask(*load(name).plans())
