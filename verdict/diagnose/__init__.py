"""Why a plan is wrong: from divergences and refuted stages to findings, one for each cause, with numbers."""

from verdict.diagnose.diagnose import Raw, diagnose
from verdict.diagnose.dtypes import dtype_notes
from verdict.diagnose.operators import other_operators
from verdict.diagnose.repro import LOADING, quoted, repro_script, sources_of
from verdict.diagnose.scene import Scene, scene_of

__all__ = [
    "LOADING", "Raw", "Scene", "diagnose", "dtype_notes", "other_operators", "quoted", "repro_script", "scene_of",
    "sources_of",
]
