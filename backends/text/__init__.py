"""Verdict's own plan format, as text and as plain data. docs/plan-format.md describes it."""

from verdict.backends.text.canonical import FORMAT, canonical
from verdict.backends.text.read import admit, read
from verdict.backends.text.write import write

__all__ = ["FORMAT", "admit", "canonical", "read", "write"]
