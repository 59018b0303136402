"""Repairs of a refuted plan: proposed by what was found, proved by verifying the repaired plan."""

from verdict.repair.search import Proposal, repairs, with_help

__all__ = ["Proposal", "repairs", "with_help"]
