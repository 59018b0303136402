"""What a recorded step does not change, it keeps: said of the single-device plan where the parallel plan tells."""

from dataclasses import replace

from verdict.graph.plan import ABSENT, BUFFER, WEIGHT, Held, Plan

RECORDED = "recorded-step"
"""The assumption that a recorded program comes with. Such a plan declares all that its step changes."""
COMPILED = "module-as-written"
"""The assumption that a module of XLA comes with."""


def with_kept(single: Plan, parallel: Plan) -> Plan:
    """The single-device plan, and if it is a recorded step, also the weights and buffers that it does not change and
    that the parallel plan declares the updated values of: they are what they were.

    So DistributedDataParallel, which writes to the buffers of all ranks what rank 0 has, must write what they hold.
    """
    if not is_recorded(single):
        return single
    asked = _updated(parallel) - _updated(single)
    kept = [
        Held(0, number, number)
        for number, tensor in enumerate(single.tensors)
        if single.kind(number) in (WEIGHT, BUFFER) and single.logicals[tensor.logical].name in asked
    ]
    return replace(single, outputs=(*single.outputs, *kept)) if kept else single


def is_recorded(plan: Plan) -> bool:
    """Whether a plan is a step of a program that was recorded."""
    return any(assumption.name == RECORDED for assumption in plan.assumptions)


def is_program(plan: Plan) -> bool:
    """Whether a plan is a step of a program: one that was recorded, or that was compiled."""
    return any(assumption.name in (RECORDED, COMPILED) for assumption in plan.assumptions)


def _updated(plan: Plan) -> frozenset[str]:
    """The names of the weights and buffers of which a plan declares the updated values."""
    weights = (held.weight for held in plan.outputs if held.weight != ABSENT)
    return frozenset(plan.logicals[plan.tensors[weight].logical].name for weight in weights)
