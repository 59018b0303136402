"""Mutation testing: single faults in right plans at random places, which are to be found, or change nothing."""

from verdict.mutate.mutate import KINDS, Kind, Mutant, mutate

__all__ = ["KINDS", "Kind", "Mutant", "mutate"]
