"""The phases of a run. Each takes what was examined so far, and returns what it knows then."""

from verdict.phases.by_layers import by_few_layers
from verdict.phases.by_masks import with_masks
from verdict.phases.by_rank import by_rows_of_ranks, first_told, told
from verdict.phases.certify import CERTAIN, certify, contradict, unconfirmed
from verdict.phases.computed import with_constants_computed
from verdict.phases.door import without_complex
from verdict.phases.drawn import with_draws
from verdict.phases.explain import explain
from verdict.phases.picture import pictured
from verdict.phases.query import Examined, Query
from verdict.phases.script import script_of
from verdict.phases.summary import known_assumptions, side_of
from verdict.phases.sweep import sweep
from verdict.phases.unsaid import with_values_unsaid
from verdict.phases.walk import walk

__all__ = [
    "CERTAIN",
    "Examined",
    "Query",
    "by_few_layers",
    "by_rows_of_ranks",
    "certify",
    "contradict",
    "explain",
    "first_told",
    "known_assumptions",
    "pictured",
    "script_of",
    "side_of",
    "sweep",
    "told",
    "unconfirmed",
    "walk",
    "with_constants_computed",
    "with_draws",
    "with_masks",
    "with_values_unsaid",
    "without_complex",
]
