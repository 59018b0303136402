"""The campaigns by their names."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from scripts.campaigns import attributes, pairs, plans, programs, ways
from scripts.campaigns.lines import BLOCK, Campaign

SECONDS = {
    "plans": plans.SECONDS, "attributes": attributes.SECONDS, "programs": programs.SECONDS * BLOCK,
    "pairs": pairs.SECONDS,
}  # fmt: skip
"""How much of the processor a question of each may take."""
ENDLESS = dict.fromkeys(("plans", "attributes", "programs"), 10**9)
"""Campaigns that make questions as long as there is time; these are asked where none is named."""
COUNTS = {**ENDLESS, "pairs": pairs.COUNT}
"""How many questions each has."""


def maker(
    name: str, seed: int, families: Sequence[str], kinds: Sequence[str], also: Sequence[str] = ()
) -> Callable[[], Campaign]:
    """What makes a campaign, by its name. also: further ways in which each question is asked."""
    return partial(_made, name, seed, families, kinds, also)


def _made(name: str, seed: int, families: Sequence[str], kinds: Sequence[str], also: Sequence[str]) -> Campaign:
    options = replace(plans.OPTIONS, solver=replace(plans.OPTIONS.solver, seed=seed))
    if name == "plans":
        return ways.in_ways(plans.campaign(seed, families, kinds), also, options)
    made = {"attributes": attributes, "pairs": pairs, "programs": programs}[name]
    return ways.in_ways(made.campaign(seed), also, options)
