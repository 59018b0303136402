"""The operational semantics of plans: one interpreter of ranks, messages and collectives, generic in its domain.

Whoever runs a plan gives it values: the oracle arrays of numbers, the sweep steps of a straight-line program.
"""

from verdict.semantics.arity import Reading, axes_of, cast_of, cast_of_sum, pattern_of, reading
from verdict.semantics.bind import Binding, bind, column_axes, itself, named, partners, require_batch_axis, with_buffers
from verdict.semantics.collectives import REDUCTIONS
from verdict.semantics.declared import Undeclared, undeclared
from verdict.semantics.domain import Domain, Operation
from verdict.semantics.machine import Machine
from verdict.semantics.regions import region_of_column, region_of_held, region_of_share
from verdict.semantics.site import Rank, Site
from verdict.semantics.small import Small, at, full, nodes_of, signature
from verdict.semantics.wiring import walk_messages

__all__ = [
    "REDUCTIONS",
    "Binding",
    "Domain",
    "Machine",
    "Operation",
    "Rank",
    "Reading",
    "Site",
    "Small",
    "Undeclared",
    "at",
    "axes_of",
    "bind",
    "cast_of",
    "cast_of_sum",
    "column_axes",
    "full",
    "itself",
    "named",
    "nodes_of",
    "partners",
    "pattern_of",
    "reading",
    "region_of_column",
    "region_of_held",
    "region_of_share",
    "require_batch_axis",
    "signature",
    "undeclared",
    "walk_messages",
    "with_buffers",
]
