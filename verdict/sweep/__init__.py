"""Sweeping (fraiging) of tensors: plans of any structure, proved by elements between points where values meet."""

from verdict.sweep.findings import findings
from verdict.sweep.sweep import OWN, Swept, sweep
from verdict.sweep.unroll import steps_of

__all__ = ["OWN", "Swept", "findings", "steps_of", "sweep"]
