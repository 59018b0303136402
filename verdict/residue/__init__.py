"""The residue: open cones between cut points of the walk, each a pair of small plans that the sweep decides."""

from verdict.residue.residue import Decided, decide

__all__ = ["Decided", "decide"]
