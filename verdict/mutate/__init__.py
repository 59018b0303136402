"""Single faults, put into right plans at random places: what a verifier must find, or show to change nothing."""

from verdict.mutate.mutate import KINDS, Kind, Mutant, mutate

__all__ = ["KINDS", "Kind", "Mutant", "mutate"]
