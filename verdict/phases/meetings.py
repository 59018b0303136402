"""Microbatches that communicate in another order than the others may compute the same all the same."""

from functools import partial

from verdict.concrete import AGREE
from verdict.diagnose import Raw
from verdict.graph.schedule import MEETINGS
from verdict.observer import Phase
from verdict.outcome import Finding
from verdict.phases.numbers import run_on_numbers
from verdict.phases.query import Examined, Query
from verdict.sweep import steps_of

FEW_STEPS = 20_000
"""Of smaller plans all is run at once."""


def in_any_order(query: Query, examined: Examined) -> Examined:
    """What was examined. Where nothing is wrong with the plan's form but that nodes meet others in other microbatches,
    and all results agree on numbers, nothing follows from that form: two gradients that are added up may arrive in
    either order. No microbatch stands for all then: that they compute the same is for the sweep to prove, of all.
    """
    structural = examined.raw.structural
    if not structural or not all(map(_is_of_meetings, structural)) or not agree(query):
        return examined
    return examined._replace(raw=Raw(), uneven=True)


def agree(query: Query) -> bool:
    """Whether plans that are quickly run come to the same results on numbers."""
    if sum(map(steps_of, query.values)) >= FEW_STEPS:
        return False
    found = run_on_numbers(*query.values, progress=partial(query.observer.advance, Phase.CERTIFY))
    return not isinstance(found, str) and found.outcome == AGREE


def _is_of_meetings(finding: Finding) -> bool:
    return isinstance(finding.kind, tuple) and finding.kind[:1] == (MEETINGS,)
