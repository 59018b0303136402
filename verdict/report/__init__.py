"""What is told: the report as a value, and its text and JSON."""

from verdict.report.evidence import Due, Evidence, Open
from verdict.report.json import as_data, to_json
from verdict.report.report import (
    Answer,
    Asked,
    Measured,
    Proofs,
    Proved,
    Refuted,
    Repair,
    Report,
    Side,
    Sweep,
    Unknown,
    Verdict,
)
from verdict.report.text import show

__all__ = [
    "Answer", "Asked", "Due", "Evidence", "Measured", "Open", "Proofs", "Proved", "Refuted", "Repair", "Report", "Side",
    "Sweep", "Unknown", "Verdict", "as_data", "show", "to_json",
]  # fmt: skip
