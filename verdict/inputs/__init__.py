"""The inputs of plans: which integers may be given, and random values for all that is, the same for both plans."""

from verdict.inputs.domains import Domain, domains, outside, unstated
from verdict.inputs.values import marks, random_integers, random_values, thresholds, with_usual_rows

__all__ = [
    "Domain",
    "domains",
    "marks",
    "outside",
    "random_integers",
    "random_values",
    "thresholds",
    "unstated",
    "with_usual_rows",
]
