"""Equal layers: a pair of plans with fewer of them, and whether what is proved of these is so of all."""

from verdict.layers.carried import carries
from verdict.layers.ends import established, trained
from verdict.layers.fewer import Fewer, fewer_layers
from verdict.layers.short import KEPT, Short

__all__ = ["KEPT", "Fewer", "Short", "carries", "established", "fewer_layers", "trained"]
