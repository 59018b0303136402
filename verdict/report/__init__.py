"""What is told: the report as a value, and its text and JSON."""

from verdict.report.json import as_data, to_json
from verdict.report.report import Asked, Measured, Open, Proofs, Report, Side, Sweep, Verdict
from verdict.report.text import show

__all__ = ["Asked", "Measured", "Open", "Proofs", "Report", "Side", "Sweep", "Verdict", "as_data", "show", "to_json"]
