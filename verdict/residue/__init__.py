"""The residue: open cones between cut points of the walk, each a pair of small plans that the sweep decides."""

from verdict.residue.blocks import given_blocks
from verdict.residue.by_blocks import by_blocks
from verdict.residue.residue import Decided, decide
from verdict.residue.rows import by_rank

__all__ = ["Decided", "by_blocks", "by_rank", "decide", "given_blocks"]
