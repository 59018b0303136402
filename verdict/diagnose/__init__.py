"""Why a plan is wrong: from divergences and refuted stages to findings, one for each cause, with numbers."""

from verdict.diagnose.diagnose import Raw, diagnose
from verdict.diagnose.scene import Scene, scene_of

__all__ = ["Raw", "Scene", "diagnose", "scene_of"]
