"""Sweeping (fraiging) of tensors: plans of any structure, proved by elements between points where values meet."""

from verdict.sweep.findings import findings
from verdict.sweep.sweep import OWN, Swept, sweep
from verdict.sweep.unroll import steps_of
from verdict.sweep.why import MOST_CAUSES

__all__ = ["MOST_CAUSES", "OWN", "Swept", "findings", "steps_of", "sweep"]
