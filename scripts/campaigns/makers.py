"""The campaigns by their names."""

from collections.abc import Callable, Sequence
from functools import partial

from scripts.campaigns import attributes, plans, programs
from scripts.campaigns.lines import BLOCK, Campaign

SECONDS = {"plans": plans.SECONDS, "attributes": attributes.SECONDS, "programs": programs.SECONDS * BLOCK}
"""How much of the processor a question of each may take."""


def maker(name: str, seed: int, families: Sequence[str], kinds: Sequence[str]) -> Callable[[], Campaign]:
    """What makes a campaign, by its name."""
    if name == "plans":
        return partial(plans.campaign, seed, families, kinds)
    return partial({"attributes": attributes, "programs": programs}[name].campaign, seed)
