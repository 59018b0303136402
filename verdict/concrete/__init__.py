"""Concrete execution (the oracle): plans run on arrays of numbers and compared. It knows operators, and no proofs."""

from verdict.comparison import AGREE, CANNOT, DIFFER, FAULT, Comparison, Fault, Faulty, Row
from verdict.concrete.comparison import (
    MOST_WORK,
    Prepared,
    compare,
    compare_prepared,
    has_sizes_in_constants,
    prepare,
    work_at,
    work_of,
)

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
    "has_sizes_in_constants",
    "prepare",
    "work_at",
    "work_of",
]
