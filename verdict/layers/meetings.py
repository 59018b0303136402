"""Whether messages and collectives join nodes of one layer, and of each layer the same ones."""

from collections import defaultdict
from collections.abc import Sequence

from verdict.graph.lockstep import COLLECTIVES, RECV, SEND, attribute
from verdict.layers.flows import Flow
from verdict.layers.stack import OUTSIDE, Stack

Step = tuple[int, int]
"""The layer and the place of a node."""
Queue = dict[tuple[int, int], list[Step]]
"""The messages from one device to another, in their order."""


def meet_alike(flows: Sequence[Flow], stack: Stack) -> bool:
    """Whether what is received in turn is of the layer of what is sent, and collectives are of one layer on all
    members; and whether nodes of one place always meet those of one other place.
    """
    sent, received = Queue(), Queue()
    groups: dict[tuple[int, ...], dict[int, list[Step]]] = defaultdict(lambda: defaultdict(list))
    for device, flow in enumerate(flows):
        steps = zip(stack.node_layer[device].tolist(), stack.node_place[device].tolist(), strict=True)
        for node, step in zip(flow.nodes, steps, strict=True):
            if node.op == SEND:
                sent.setdefault((device, attribute(node, "peer")), []).append(step)
            elif node.op == RECV:
                received.setdefault((attribute(node, "peer"), device), []).append(step)
            elif node.op in COLLECTIVES:
                groups[tuple(sorted(attribute(node, "ranks")))][device].append(step)
    messages = sent.keys() == received.keys() and all(_pair_up(sent[pair], received[pair]) for pair in sent)
    return messages and all(
        _pair_up(own.get(group[0], []), own.get(member, [])) for group, own in groups.items() for member in group
    )


def _pair_up(own: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether steps that meet in turn are of one layer, and those of one place always meet those of one other place."""
    if [layer for layer, _ in own] != [layer for layer, _ in other]:
        return False
    known: dict[int, int] = {}
    pairs = ((mine[1], theirs[1]) for mine, theirs in zip(own, other, strict=True) if mine[0] != OUTSIDE)
    return all(known.setdefault(mine, theirs) == theirs for mine, theirs in pairs)
