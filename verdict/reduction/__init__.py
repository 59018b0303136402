"""Small-scope reduction: whole plans at smaller shapes that stand for their own, where every operator permits it.

What tensors hold is followed from where it is made (positions, counts, truth values), an axis shrinks by one rational
number wherever it occurs, and tables that are made from no input are given tensors.
"""

from verdict.reduction.shrink import Reduced, shrink
from verdict.reduction.sized import made_of, shrunk_with_constants, sizes_in_constants

__all__ = ["Reduced", "made_of", "shrink", "shrunk_with_constants", "sizes_in_constants"]
