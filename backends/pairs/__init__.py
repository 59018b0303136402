"""Bug pairs: a right plan, the same plan with a bug in it, and what must be said of it, in one small file."""

from backends.pairs.pair import Pair
from backends.pairs.read import load, names
from backends.pairs.recorded import Recorded
from backends.pairs.recorded import load as load_bug
from backends.pairs.recorded import names as names_of_bugs

__all__ = ["Pair", "Recorded", "load", "load_bug", "names", "names_of_bugs"]
