"""The oracle: plans executed on numbers, all ranks in lockstep. It knows the operators and nothing of proofs."""

from verdict.concrete.comparison import (
    AGREE,
    CANNOT,
    DIFFER,
    FAULT,
    MOST_WORK,
    Comparison,
    Prepared,
    compare,
    compare_prepared,
    prepare,
)
from verdict.concrete.ends import Row
from verdict.concrete.fault import Fault, Faulty

__all__ = [
    "AGREE",
    "CANNOT",
    "DIFFER",
    "FAULT",
    "MOST_WORK",
    "Comparison",
    "Fault",
    "Faulty",
    "Prepared",
    "Row",
    "compare",
    "compare_prepared",
    "prepare",
]
