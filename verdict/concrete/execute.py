"""Run a plan on numbers: every rank, every microbatch, with real collectives, on numpy."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.concrete.arrays import Arrays
from verdict.concrete.shaken import Shaken
from verdict.graph import ONCE_A_STEP, Held, Plan
from verdict.ops import Array
from verdict.semantics import Binding, Machine, Rank, Small


class Run(NamedTuple):
    """What a plan declares: losses and further outputs by (rank, microbatch, tensor), gradients by (rank, tensor).

    What is there once a step, such as a loss that the microbatches add up, is there for ONCE_A_STEP.
    """

    losses: Mapping[tuple[Rank, int, int], Array]
    gradients: Mapping[tuple[Rank, int], Array]
    outputs: Mapping[tuple[Rank, int, int], Array]


def execute(
    plan: Plan, small: Small, binding: Binding, given: Mapping[int, Array], exact: bool = False, shaken: bool = False
) -> Run:
    """Run `plan` at small shapes on `given`, arrays by logical tensor of the single-device plan. Raises Faulty.

    shaken: whether what operators make is off by far more than rounding.
    """
    shapes = {logical: array.shape for logical, array in given.items()}
    machine = Machine(plan, small, binding, shapes, Shaken(plan, given) if shaken else Arrays(given, exact))
    machine.run()
    gradients = {
        (rank, held.tensor): machine.final(rank, ONCE_A_STEP, held.tensor)
        for replica in range(plan.replicas)
        for held in plan.gradients
        for rank in [Rank(replica, held.device)]
    }
    return Run(_declared(machine, plan.losses), gradients, _declared(machine, plan.outputs))


def _declared(machine: Machine[Array], outputs: Sequence[Held]) -> dict[tuple[Rank, int, int], Array]:
    """What every rank holds of outputs at the end, in every microbatch or once."""
    return {
        (rank, microbatch, held.tensor): machine.final(rank, microbatch, held.tensor)
        for replica in range(machine.plan.replicas)
        for held in outputs
        for rank in [Rank(replica, held.device)]
        for microbatch in machine.moments(rank, held.tensor)
    }
