"""Between which integers values lie that are given."""

from collections.abc import Mapping

from verdict.comparison import Faulty
from verdict.inputs import domains
from verdict.lineage import Reference
from verdict.semantics import full


def ranges_of(table: Reference) -> Mapping[int, tuple[int, int]]:
    """The least and the greatest integer of single-device values, by base; none where a node has no rule."""
    try:
        known = domains(table.plan, full(table.plan))
    except Faulty:
        return {}
    found: dict[int, tuple[int, int]] = {}
    for logical, base in table.given.items():
        kinds = known[logical].kinds if logical in known else ()
        lows = [integers.low for integers in kinds if integers.low is not None and not integers.beside]
        highs = [integers.high for integers in kinds if integers.high is not None]
        if kinds and len(lows) == len(highs) == len(kinds):
            found[base] = min(lows), max(highs)
    return found
