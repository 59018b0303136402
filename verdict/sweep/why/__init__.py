"""Why declared outputs differ: corrections are tried in the flow, and the earliest that mends them is the cause."""

from verdict.sweep.why.causes import MOST_CAUSES, causes
from verdict.sweep.why.ends import Trail, other_values, trails
from verdict.sweep.why.mend import Change, State
from verdict.sweep.why.numbers import numbers
from verdict.sweep.why.scene import Scene, scene_of
from verdict.sweep.why.search import Cause
from verdict.sweep.why.upstream import OWN_SHARE

__all__ = [
    "MOST_CAUSES",
    "OWN_SHARE",
    "Cause",
    "Change",
    "Scene",
    "State",
    "Trail",
    "causes",
    "numbers",
    "other_values",
    "scene_of",
    "trails",
]
