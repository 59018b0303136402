"""Bug pairs: a right plan, the same plan with a bug in it, and what must be said of it, in one small file."""

from backends.pairs.pair import Pair
from backends.pairs.read import load, names

__all__ = ["Pair", "load", "names"]
