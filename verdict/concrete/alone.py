"""Two plans, each run by itself on the same random numbers: what their further outputs are then, by name."""

from collections.abc import Mapping
from math import prod

import numpy as np

from verdict.comparison import Faulty
from verdict.concrete.execute import execute
from verdict.graph import INPUT, Plan, extent
from verdict.inputs import random_values
from verdict.ops import Array
from verdict.semantics import full, itself

MOST_ELEMENTS = 20_000_000
"""The most elements that plans may make that are run so."""
Outputs = Mapping[str, Array]
CANNOT = (Faulty, ArithmeticError, LookupError, TypeError, ValueError)


def outputs_of(single: Plan, parallel: Plan) -> tuple[Outputs, Outputs] | None:
    """The outputs of both, by name. The single-device plan has all inputs of the other one. None where they are too
    large, or cannot be run.
    """
    plans = (single, parallel)
    if sum(prod(extent(tensor.region)) for plan in plans for tensor in plan.tensors) > MOST_ELEMENTS:
        return None
    try:
        drawn = random_values(single, full(single), 0, False)
        given = {single.logicals[k].name: array for k, array in drawn.items()}
        with np.errstate(all="ignore"):
            return _outputs(single, given), _outputs(parallel, given)
    except CANNOT:
        return None


def _outputs(plan: Plan, given: Mapping[str, Array]) -> Outputs:
    values = {k: given[each.name] for k, each in enumerate(plan.logicals) if each.kind == INPUT}
    made = {tensor: array for (_, _, tensor), array in execute(plan, full(plan), itself(plan), values).outputs.items()}
    return {plan.logicals[plan.tensors[held.tensor].logical].name: made[held.tensor] for held in plan.outputs}
