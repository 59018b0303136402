"""Bug pairs: a right plan, the same plan with a bug in it, and what must be said of it, in one small file."""

from verdict.backends.pairs.pair import Pair
from verdict.backends.pairs.read import load, names
from verdict.backends.pairs.recorded import Recorded
from verdict.backends.pairs.recorded import load as load_bug
from verdict.backends.pairs.recorded import names as names_of_bugs

__all__ = ["Pair", "Recorded", "load", "load_bug", "names", "names_of_bugs"]
