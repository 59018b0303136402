"""Groups whose members are listed in another order than that of the regions that the plan states."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from verdict.graph import Node, Plan
from verdict.graph.lockstep import CHUNK, attribute
from verdict.lineage.values import chunks
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site, with_attrs

GATHER = "all_gather"
CODES = frozenset({"wrong-order", "wrong-slice", "wrong-group"})


def order_by_region(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The members of every chunk and all-gather in the order of the pieces that the plan states, at all places."""
    if finding.code not in CODES:
        return
    positions: dict[tuple[object, ...], dict[int, int]] = defaultdict(dict)
    nodes: dict[tuple[object, ...], list[tuple[Site, Node]]] = defaultdict(list)
    for number, segment in enumerate(case.plan.segments):
        for at, node in enumerate(segment.nodes):
            if node.op in (CHUNK, GATHER):
                key = _group(case.plan, node)
                positions[key][segment.device] = _position(case.plan, node)
                nodes[key].append((Site(number, at), node))
    instead: dict[Site, tuple[Node, ...]] = {}
    wrong: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for key, found in nodes.items():
        ranks = _in_order(positions[key])
        for site, node in found:
            own = attribute(node, "ranks")
            if ranks is not None and set(own) == set(ranks) and own != ranks:
                instead[site] = (with_attrs(node, ranks=ranks),)
                wrong.append((own, ranks))
    if instead:
        own, ranks = wrong[0]
        more = f", and so on at {len(wrong)} places" if len(set(wrong)) > 1 else f", at {len(wrong)} places"
        yield Candidate(
            f"the members of chunk and all_gather in the order of their regions: {list(ranks)} for {list(own)}{more}",
            Patch(instead=instead),
        )


def _group(plan: Plan, node: Node) -> tuple[object, ...]:
    """What all members of one chunk or all-gather have in common."""
    cut, whole = (node.outputs, node.inputs) if node.op == CHUNK else (node.inputs, node.outputs)
    tensors = plan.tensors[cut[0]].logical, plan.tensors[whole[0]].logical
    channel = attribute(node, "channel")
    return (node.op, tuple(sorted(attribute(node, "ranks"))), attribute(node, "dim"), channel, node.name, *tensors)


def _position(plan: Plan, node: Node) -> int:
    """Which piece of the whole the plan says this member has; -1 where its regions say none."""
    piece, whole = (node.outputs, node.inputs) if node.op == CHUNK else (node.inputs, node.outputs)
    dim = attribute(node, "dim")
    start, stop = plan.tensors[whole[0]].region[dim]
    first, last = plan.tensors[piece[0]].region[dim]
    cuts = chunks(stop - start, len(attribute(node, "ranks")))
    return next((k for k, cut in enumerate(cuts) if cut == (first - start, last - start)), -1)


def _in_order(positions: Mapping[int, int]) -> tuple[int, ...] | None:
    """The devices by their pieces; None where two have the same piece, or one has none."""
    if sorted(positions.values()) != list(range(len(positions))):
        return None
    return tuple(sorted(positions, key=positions.__getitem__))
