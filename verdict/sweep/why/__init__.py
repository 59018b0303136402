"""Why declared outputs differ: corrections are tried in the flow, and the earliest that mends them is the cause."""

from verdict.sweep.why.causes import Cause, causes
from verdict.sweep.why.numbers import numbers
from verdict.sweep.why.scene import Scene, scene_of

__all__ = ["Cause", "Scene", "causes", "numbers", "scene_of"]
