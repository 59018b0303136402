"""Random numbers of the single-device plan."""

from verdict.lineage.reference import Reference
from verdict.ops import FACTS


def draws_again(table: Reference) -> bool:
    """Whether several nodes draw random numbers for one input: modelled as a function of it, they would be one."""
    return any(len(found) > 1 for (op, _), found in table.by_inputs.items() if FACTS.random(op))
