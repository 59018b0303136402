"""The inputs of plans: which integers may be given, and random values for all that is, the same for both plans."""

from verdict.inputs.defined import defined
from verdict.inputs.domains import Domain, domains, endless, outside, unstated
from verdict.inputs.values import USUAL, Scale, marks, random_integers, random_values, thresholds, with_usual_rows

__all__ = [
    "USUAL",
    "Domain",
    "Scale",
    "defined",
    "domains",
    "endless",
    "marks",
    "outside",
    "random_integers",
    "random_values",
    "thresholds",
    "unstated",
    "with_usual_rows",
]
