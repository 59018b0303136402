"""Repairs of a refuted plan: proposed by what was found, proved by verifying the repaired plan."""

from verdict.repair.corrections import corrections
from verdict.repair.effects import effects
from verdict.repair.search import ALL_ATTEMPTS, repairs, with_repairs

__all__ = ["ALL_ATTEMPTS", "corrections", "effects", "repairs", "with_repairs"]
