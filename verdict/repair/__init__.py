"""Repairs of a refuted plan: proposed by what was found, proved by verifying the repaired plan."""

from verdict.repair.corrections import corrections
from verdict.repair.effects import effects
from verdict.repair.search import ALL_ATTEMPTS, found_repairs, repairs, with_plan, with_repairs

__all__ = ["ALL_ATTEMPTS", "corrections", "effects", "found_repairs", "repairs", "with_plan", "with_repairs"]
