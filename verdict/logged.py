"""The observer of Python programs: phases and counts go to the logger `verdict`."""

import logging

from verdict.observer import Phase

LOG = logging.getLogger("verdict")


class Logged:
    """Logs each phase at its beginning, at the level INFO, and how far it is, at DEBUG."""

    def begin(self, phase: Phase, given: object = None) -> None:
        """Log the phase."""
        LOG.info("%s", phase)

    def advance(self, phase: str, done: int, total: int, counted: str) -> None:
        """Log how far it is."""
        LOG.debug("%s: %d of %d %s", phase, done, total, counted)
