"""Repairs of a refuted plan: proposed by what was found, proved by verifying the repaired plan."""

from verdict.repair.search import ALL_ATTEMPTS, Proposal, repairs, with_help

__all__ = ["ALL_ATTEMPTS", "Proposal", "repairs", "with_help"]
