"""Sends and receives that are crossed: every receive gets the send of the tensor that it states."""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from verdict.graph import Node, Plan
from verdict.graph.lockstep import RECV, SEND, attribute
from verdict.lineage import Evidence
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site, with_attrs


class _End(NamedTuple):
    """One end of a message."""

    site: Site
    device: int
    peer: int
    node: Node


def pair_by_region(case: Case, finding: Finding) -> Iterator[Candidate]:
    """New peers for sends and receives of one channel and region that do not name each other."""
    if isinstance(finding.evidence, Evidence) and finding.evidence.partner >= 0 and finding.code != "wrong-slice":
        return
    instead: dict[Site, tuple[Node, ...]] = {}
    pairs: list[tuple[_End, _End]] = []
    for sends, receives in _ends(case.plan):
        for send, receive in zip(sends, receives, strict=True) if len(sends) == len(receives) else ():
            instead[send.site] = (with_attrs(send.node, peer=receive.device),)
            instead[receive.site] = (with_attrs(receive.node, peer=send.device),)
            pairs.append((send, receive))
    if pairs:
        shown = ", ".join(f"{send.node.name} from rank {send.device} to {end.device}" for send, end in pairs[:4])
        more = f", and {len(pairs) - 4} more" if pairs[4:] else ""
        yield Candidate(f"every receive from the rank that sends its region: {shown}{more}", Patch(instead=instead))


def unpaired_messages(plan: Plan) -> tuple[tuple[Site, ...], tuple[Site, ...]]:
    """The sends and the receives of a plan that no node at the other end is the partner of."""
    ends = _ends(plan)
    return (
        tuple(end.site for sends, _ in ends for end in sends),
        tuple(end.site for _, receives in ends for end in receives),
    )


def _ends(plan: Plan) -> list[tuple[list[_End], list[_End]]]:
    """For all that messages carry: the ends that name no partner that names them, by the order of the devices."""
    ends: dict[tuple[object, ...], dict[str, list[_End]]] = defaultdict(lambda: {SEND: [], RECV: []})
    for number, segment in enumerate(plan.segments):
        for at, node in enumerate(segment.nodes):
            if node.op in (SEND, RECV):
                end = _End(Site(number, at), segment.device, attribute(node, "peer"), node)
                ends[_what(plan, node)][node.op].append(end)
    return [_unpaired(found[SEND], found[RECV]) for found in ends.values()]


def _what(plan: Plan, node: Node) -> tuple[object, ...]:
    """What a message carries: both ends say the same."""
    tensor = plan.tensors[(node.inputs or node.outputs)[0]]
    return attribute(node, "channel"), tensor.logical, tensor.region


def _unpaired(sends: list[_End], receives: list[_End]) -> tuple[list[_End], list[_End]]:
    """The ends that name no partner that names them, each list in the order of the devices."""
    waiting = list(receives)
    alone = []
    for send in sends:
        match = next((end for end in waiting if (end.device, end.peer) == (send.peer, send.device)), None)
        if match is None:
            alone.append(send)
        else:
            waiting.remove(match)
    return sorted(alone, key=lambda end: end.device), sorted(waiting, key=lambda end: end.device)
