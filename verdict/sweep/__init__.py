"""The sweep: plans whose structures differ, proved element by element between points where their values meet."""

from verdict.sweep.findings import findings
from verdict.sweep.sweep import Swept, sweep

__all__ = ["Swept", "findings", "sweep"]
