"""Events: the steps of a plan, each once, with all devices that take it together."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.graph.lockstep import Handlers, Step, lockstep, program
from verdict.graph.plan import ABSENT, ONCE_A_STEP, Node, Plan

Made = tuple[int, int]
"""A device, and a tensor that it makes."""


class Event(NamedTuple):
    """A step that devices take together: one of one device, a message with its sender, or a collective.

    once: whether it is taken once a step, and not for every microbatch.
    """

    nodes: tuple[tuple[int, Node], ...]
    once: bool


def events_of(plan: Plan, microbatch: int) -> list[Event]:
    """All steps of one column, in an order in which they can be taken."""
    events: list[Event] = []

    def local(device: int, step: Step) -> None:
        events.append(Event(((device, step.node),), step.microbatch == ONCE_A_STEP))

    def receive(device: int, step: Step, source: int, sent: Step) -> None:
        events.append(Event(((source, sent.node), (device, step.node)), step.microbatch == ONCE_A_STEP))

    def meet(members: Mapping[int, Step]) -> None:
        once = any(step.microbatch == ONCE_A_STEP for step in members.values())
        nodes = tuple((device, step.node) for device, step in sorted(members.items()))
        events.append(Event(nodes, once))

    own = (microbatch, ONCE_A_STEP)
    programs = [program(plan, [call for call in calls if call.microbatch in own]) for calls in plan.programs]
    lockstep(programs, Handlers(local, lambda device, step: device, receive, meet))
    return events


def makers_of(events: Sequence[Event]) -> dict[Made, int]:
    """The step that makes each tensor."""
    return {
        (device, tensor): number
        for number, event in enumerate(events)
        for device, node in event.nodes
        for tensor in node.outputs
        if tensor != ABSENT
    }
