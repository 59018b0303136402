"""The oracle: plans executed on numbers, all ranks in lockstep. It knows the operators and nothing of proofs."""

from verdict.comparison import AGREE, CANNOT, DIFFER, FAULT, Comparison, Fault, Faulty, Row
from verdict.concrete.comparison import MOST_WORK, Prepared, compare, compare_prepared, prepare, work_of

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
    "work_of",
]
