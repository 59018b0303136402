"""Sweeping (fraiging) of tensors: plans of any structure, proved by elements between points where values meet."""

from verdict.sweep.compare import simple_multiple
from verdict.sweep.findings import findings
from verdict.sweep.held import Held, held
from verdict.sweep.own import is_small
from verdict.sweep.sweep import sweep
from verdict.sweep.swept import OWN, Swept, apart_on_numbers
from verdict.sweep.unroll import steps_of
from verdict.sweep.why import MOST_CAUSES, OWN_SHARE

__all__ = [
    "MOST_CAUSES",
    "OWN",
    "OWN_SHARE",
    "Held",
    "Swept",
    "apart_on_numbers",
    "findings",
    "held",
    "is_small",
    "simple_multiple",
    "steps_of",
    "sweep",
]
