"""Ranks and lists in words. Of regions: `verdict.graph.spelled`."""

from collections.abc import Sequence
from difflib import get_close_matches

MOST_RUNS = 8
"""How many ranks, or ranges of them, are named; dots stand for the others."""


def ranks_text(ranks: Sequence[int], through: str = " to ", most: int = MOST_RUNS) -> str:
    """Ranks in the order given: three or more in a row as a range. through: what stands between its ends."""
    runs: list[list[int]] = []
    for rank in ranks:
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    texts = [f"{run[0]}{through}{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs]
    return f"rank{'s' if len(ranks) > 1 else ''} {listed(texts, most)}"


def listed(items: Sequence[object], most: int, between: str = ", ") -> str:
    """The first of some things; dots stand for the others."""
    shown = [str(item) for item in items[:most]]
    return between.join([*shown, *(["..."] if len(items) > most else [])])


def known_text(name: str, known: Sequence[str]) -> str:
    """What a name that is not known may have meant, and all that are."""
    return f"{near_text(name, known)}known: {', '.join(known)}"


def near_text(name: str, known: Sequence[str]) -> str:
    """The question whether the nearest of the known names was meant; nothing where none is near."""
    return "".join(f"did you mean {one}? " for one in get_close_matches(name.lower(), known, n=1))
