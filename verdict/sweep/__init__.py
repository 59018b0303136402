"""The sweep: plans whose structures differ, proved element by element between points where their values meet."""

from verdict.sweep.findings import findings
from verdict.sweep.sweep import OWN, Swept, sweep
from verdict.sweep.unroll import steps_of

__all__ = ["OWN", "Swept", "findings", "steps_of", "sweep"]
