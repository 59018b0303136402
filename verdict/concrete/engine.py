"""The engine of `verdict run` that needs nothing but numpy: the operators' own rules, on floats or exact rationals."""

from functools import partial

import numpy as np

from verdict.comparison import Comparison, Engine, Held
from verdict.concrete.comparison import FULL_WORK, alone, compare
from verdict.concrete.execute import execute
from verdict.graph import ONCE_A_STEP, Plan, without_effects
from verdict.inputs import random_values
from verdict.ops import Array
from verdict.semantics import Rank, itself


def own_engine(exact: bool = False) -> Engine:
    """The engine. exact: compute on rationals where the operators allow it."""
    return Engine(partial(_compare, exact), partial(_alone, exact), FULL_WORK)


def _compare(exact: bool, single: Plan, parallel: Plan, seed: int, most_work: int) -> Comparison:
    return compare(single, parallel, seed, exact, most_work)


def _alone(exact: bool, plan: Plan, seed: int, most_work: int) -> tuple[Held, ...]:
    plan, small = alone(without_effects(plan), most_work)
    with np.errstate(all="ignore"):
        found = execute(plan, small, itself(plan), random_values(plan, small, seed, exact), exact)

    def held(what: str, rank: Rank, microbatch: int, value: Array, listed: bool = False) -> Held:
        where = f"on rank {rank.replica * plan.devices + rank.device}"
        where += "" if microbatch == ONCE_A_STEP else f", microbatch {microbatch}"
        numbers = tuple(float(x) for x in value.flat) if listed else ()
        return Held(what, where, numbers, float(np.linalg.norm(value.astype(np.float64))), value.shape)

    name = [plan.logicals[tensor.logical].name for tensor in plan.tensors]
    return (
        *(held("loss", rank, microbatch, value, True) for (rank, microbatch, _), value in found.losses.items()),
        *(
            held(f"gradient of {name[end.weight]}", rank, ONCE_A_STEP, value)
            for end in plan.gradients
            for (rank, tensor), value in found.gradients.items()
            if (rank.device, tensor) == (end.device, end.tensor)
        ),
        *(held(f"output {name[t]}", rank, microbatch, value) for (rank, microbatch, t), value in found.outputs.items()),
    )
