"""Make a pair of plans small while a question about it keeps its answer: fewer declared outputs, fewer nodes."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from verdict.graph import ABSENT, Held, Plan
from verdict.graph.lockstep import COMMUNICATION

Pair = tuple[Plan, Plan]
Holds = Callable[[Plan, Plan], bool]
LOADER = "dataloader"


def shrunk(single: Plan, parallel: Plan, holds: Holds, seconds: float = 60) -> Pair:
    """The smallest pair that is found in this time for which the question is still answered so."""
    until = time.monotonic() + seconds
    pair, moved = (single, parallel), True
    while moved and time.monotonic() < until:
        moved = False
        for smaller in _smaller(pair):
            if time.monotonic() > until:
                break
            if _holds(holds, smaller):
                pair, moved = smaller, True
                break
    return pair


def _holds(holds: Holds, pair: Pair) -> bool:
    try:
        return holds(*pair)
    except Exception:
        return False


def _smaller(pair: Pair) -> Iterator[Pair]:
    names = list(dict.fromkeys(_name(pair[0], held) for held in pair[0].declared))
    for name in names if len(names) > 1 else ():
        yield tuple(pruned(_only(plan, name)) for plan in pair)  # type: ignore[misc]
    for name in names if len(names) > 1 else ():
        yield tuple(pruned(_without(plan, name)) for plan in pair)  # type: ignore[misc]


def _name(plan: Plan, held: Held) -> tuple[str, str]:
    """What a declared output is of: a weight, or itself."""
    of = held.weight if held.weight != ABSENT else held.tensor
    kind = "loss" if held in plan.losses else "gradient" if held in plan.gradients else "output"
    return kind, plan.logicals[plan.tensors[of].logical].name


def _keep(plan: Plan, keep: Callable[[tuple[str, str]], bool]) -> Plan:
    def kept(all_held: tuple[Held, ...]) -> tuple[Held, ...]:
        return tuple(held for held in all_held if keep(_name(plan, held)))

    return replace(plan, losses=kept(plan.losses), gradients=kept(plan.gradients), outputs=kept(plan.outputs))


def _only(plan: Plan, name: tuple[str, str]) -> Plan:
    return _keep(plan, lambda found: found == name)


def _without(plan: Plan, name: tuple[str, str]) -> Plan:
    return _keep(plan, lambda found: found != name)


def pruned(plan: Plan) -> Plan:
    """The plan without nodes of which nothing is declared in the end. Messages are left out by their tensors' names."""
    wanted = {plan.tensors[held.tensor].logical for held in plan.declared}
    nodes = [node for segment in plan.segments for node in segment.nodes]
    sent = _mailed(plan)
    grown = True
    while grown:
        before = len(wanted)
        for node in nodes:
            made = {plan.tensors[t].logical for t in node.outputs if t != ABSENT}
            if node.op in COMMUNICATION and not made:
                made = {sent.get(node.inputs[0], -1)}
            if made & wanted:
                wanted |= {plan.tensors[t].logical for t in node.inputs if t != ABSENT}
        wanted |= {plan.tensors[t].logical for t, to in sent.items() if to in wanted}
        grown = len(wanted) > before

    def needed(tensors: tuple[int, ...]) -> bool:
        return any(t != ABSENT and plan.tensors[t].logical in wanted for t in tensors)

    segments = tuple(
        segment._replace(nodes=tuple(n for n in segment.nodes if needed(n.outputs or n.inputs)))
        for segment in plan.segments
    )
    return replace(plan, segments=segments)


def _mailed(plan: Plan) -> dict[int, int]:
    """For each tensor that is sent, the logical tensor of that name, which its receiver makes."""
    return {
        node.inputs[0]: plan.tensors[node.inputs[0]].logical
        for segment in plan.segments
        for node in segment.nodes
        if node.op == "send" and node.inputs
    }
