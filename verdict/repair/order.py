"""Pieces that do not lie in the order of their group: a group that is listed in another order than the regions that the
plan states, or pieces that were given to other ranks than those of their places.

A runtime makes groups in the order of their ranks (torch.distributed.new_group sorts them). So a repair never asks for
another order, where none of the plan's groups has it: it gives each rank the piece of its place.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from verdict.graph import Node, Plan, Region, chunks
from verdict.graph.lockstep import CHUNK, RECV, SEND, attribute
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site, node_at, with_attrs

GATHER = "all_gather"
CODES = frozenset({"wrong-order", "wrong-slice", "wrong-group"})


def order_by_region(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The members of every chunk and all-gather in the order of the pieces that the plan states, at all places."""
    if finding.code not in CODES:
        return
    positions: dict[tuple[object, ...], dict[int, int]] = defaultdict(dict)
    nodes: dict[tuple[object, ...], list[tuple[Site, Node]]] = defaultdict(list)
    known: set[tuple[int, ...]] = set()
    for number, segment in enumerate(case.plan.segments):
        for at, node in enumerate(segment.nodes):
            if node.op in (CHUNK, GATHER):
                key = _group(case.plan, node)
                positions[key][segment.device] = _position(case.plan, node)
                nodes[key].append((Site(number, at), node))
                known.add(attribute(node, "ranks"))
    instead: dict[Site, tuple[Node, ...]] = {}
    wrong: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for key, found in nodes.items():
        ranks = _in_order(positions[key])
        if ranks is None or (list(ranks) != sorted(ranks) and ranks not in known):
            continue
        for site, node in found:
            own = attribute(node, "ranks")
            if set(own) == set(ranks) and own != ranks:
                instead[site] = (with_attrs(node, ranks=ranks),)
                wrong.append((own, ranks))
    if instead:
        own, ranks = wrong[0]
        more = f", and so on at {len(wrong)} places" if len(set(wrong)) > 1 else f", at {len(wrong)} places"
        yield Candidate(
            f"the members of chunk and all_gather in the order of their regions: {list(ranks)} for {list(own)}{more}",
            Patch(instead=instead),
        )


class _Message(NamedTuple):
    """A piece that is cut on one rank, sent, and joined with others on another one, and where each node stands."""

    sender: int
    cut: Site
    send: Site
    receiver: int
    receive: Site
    join: Site


def place_by_rank(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Every rank takes the piece of its place in the group, and sends it to that place, in all transfers."""
    if finding.code not in CODES:
        return
    instead: dict[Site, tuple[Node, ...]] = {}
    moved: list[str] = []
    for messages in _transfers(case).values():
        for site, nodes, words in _replaced(case, messages):
            instead[site] = nodes
            moved += [words] if words else []
    if instead:
        more = f", and so on, {len(moved)} pieces" if len(moved) > 1 else ""
        sentence = f"every rank cuts the piece of its place and sends it to that place: {moved[0]}{more}"
        yield Candidate(sentence, Patch(instead=instead))


def _transfers(case: Case) -> Mapping[tuple[object, ...], list[_Message]]:
    """The messages that carry the pieces of one tensor: those of one channel."""
    ends: dict[tuple[str, object, int, Region, int, int], tuple[Site, Site]] = {}
    for (device, tensor), sites in case.makers.items():
        readers = case.readers.get((device, tensor), ())
        for made in sites if len(sites) == len(readers) == 1 else ():
            pair = node_at(case.plan, made), node_at(case.plan, readers[0])
            if (pair[0].op, pair[1].op) in ((CHUNK, SEND), (RECV, GATHER)):
                talks = pair[1] if pair[1].op == SEND else pair[0]
                share = case.plan.tensors[tensor]
                what = talks.op, attribute(talks, "channel"), share.logical, share.region
                ends[*what, device, attribute(talks, "peer")] = made, readers[0]
    found: dict[tuple[object, ...], list[_Message]] = defaultdict(list)
    for (op, channel, logical, region, device, peer), (cut, send) in ends.items():
        other = ends.get((RECV, channel, logical, region, peer, device)) if op == SEND else None
        if other is not None:
            found[channel, logical].append(_Message(device, cut, send, peer, *other))
    return found


def _replaced(case: Case, messages: list[_Message]) -> Iterator[tuple[Site, tuple[Node, ...], str]]:
    """The nodes of one transfer, as they are where each piece goes by its place; none where it does already."""
    plan = case.plan
    cuts = {message.sender: node_at(plan, message.cut) for message in messages}
    joins = {message.receiver: node_at(plan, message.join) for message in messages}
    groups = {attribute(node, "ranks") for node in cuts.values()}, {attribute(node, "ranks") for node in joins.values()}
    if len(groups[0]) != 1 or len(groups[1]) != 1:
        return
    senders, receivers = groups[0].pop(), groups[1].pop()
    if set(senders) != set(cuts) or set(receivers) != set(joins) or len(senders) != len(receivers):
        return
    stated = {_position(plan, cuts[message.sender]): message for message in messages}
    by_receiver = {message.receiver: message for message in messages}
    by_sender = {message.sender: message for message in messages}
    if sorted(stated) != list(range(len(senders))):
        return
    for place, (sender, receiver) in enumerate(zip(senders, receivers, strict=True)):
        old, new, labelled = by_sender[sender], by_receiver[receiver], stated[place]
        if old.receiver == receiver and labelled.sender == sender:
            continue
        piece = node_at(plan, labelled.cut).outputs
        room = node_at(plan, labelled.receive).outputs
        words = f"piece {place} of {cuts[sender].name} from rank {sender} to rank {receiver}"
        yield old.cut, (node_at(plan, old.cut)._replace(outputs=piece),), words
        yield old.send, (with_attrs(node_at(plan, old.send), peer=receiver)._replace(inputs=piece),), ""
        yield new.receive, (with_attrs(node_at(plan, new.receive), peer=sender)._replace(outputs=room),), ""
        yield new.join, (node_at(plan, new.join)._replace(inputs=room),), ""


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
