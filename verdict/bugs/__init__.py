"""The suite of real bugs: pairs of plans, and what Verdict says of the right one and of the one with the bug."""

from verdict.bugs.judge import Bug, Judged, judge

__all__ = ["Bug", "Judged", "judge"]
