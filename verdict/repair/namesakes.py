"""Nodes that are wired otherwise than the nodes of their name on other ranks, and gradients that are not declared."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from verdict.graph import ABSENT, GRAD, WEIGHT, Fault, Held, Node
from verdict.graph.lockstep import RECV, SEND
from verdict.lineage import Evidence
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, Site, node_at
from verdict.repair.wiring import is_complete


class _Wires(NamedTuple):
    """The logical tensors that a node reads and writes."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def as_namesake(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Wire the nodes at fault as the nodes of the same operator and name on most other ranks are."""
    instead: dict[Site, tuple[Node, ...]] = {}
    for site in _suspects(case, finding):
        right = _rewired(case, site)
        if right is not None:
            instead[site] = (right,)
    if instead:
        site = next(iter(instead))
        device = case.plan.segments[site.segment].device
        more = f", and {len(instead) - 1} more nodes alike" if len(instead) > 1 else ""
        yield Candidate(f"wire {case.named(site)} on rank {device} as on the other ranks{more}", Patch(instead=instead))


def declare_gradients(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Declare the gradients that ranks hold of weights that they use, where they declare none."""
    if finding.code not in ("gradient-missing", "weight-not-covered") or case.walk is None:
        return
    reference, plan = case.walk.reference, case.plan
    due = {}
    for held in reference.plan.gradients:
        logical = reference.plan.logicals[reference.plan.tensors[held.weight].logical]
        due[logical.origin, logical.name] = reference.values.get(held.tensor, ())
    declared = {(held.device, held.weight) for held in plan.gradients}
    found: list[Held] = []
    for device, tensors in enumerate(case.walk.held):
        for weight in sorted(tensors):
            if plan.kind(weight) != WEIGHT or (device, weight) in declared:
                continue
            logical = plan.logicals[plan.tensors[weight].logical]
            expected = due.get((logical.origin, logical.name), ())
            region = plan.tensors[weight].region
            right = (t for t in sorted(tensors) if expected and case.is_right(device, t, expected, region))
            tensor = next((t for t in right if is_complete(case, device, t)), None)
            if tensor is not None:
                found.append(Held(device, tensor, weight))
    if found:
        names = ", ".join(f"{case.name(held.weight)} on rank {held.device}" for held in found[:3])
        more = f", and {len(found) - 3} more" if found[3:] else ""
        yield Candidate(f"declare the gradient of {names}{more}", Patch(declared=tuple(found)))


def _suspects(case: Case, finding: Finding) -> list[Site]:
    """The nodes that a finding names; for a missing gradient also those that read no gradient at all."""
    about = finding.evidence
    places = about.places if isinstance(about, Evidence | Fault) else ()
    found = [site for place in places for site in case.named_nodes(place.device, place.op, place.name)]
    if isinstance(about, Evidence):
        found.extend(
            site
            for place, tensor in zip(about.places, about.tensors, strict=False)
            if place.op == "output"
            for _, site in case.upstream(place.device, tensor)
        )
    if finding.code == "gradient-missing":
        found.extend(
            Site(number, at)
            for number, segment in enumerate(case.plan.segments)
            for at, node in enumerate(segment.nodes)
            if node.op.endswith(GRAD) and ABSENT in node.inputs[: len(node.inputs) - len(node.outputs)]
        )
    return list(dict.fromkeys(found))


def _rewired(case: Case, site: Site) -> Node | None:
    """The node with the wires that most of its namesakes have; None where it has them, or the rank lacks one."""
    node, device = node_at(case.plan, site), case.plan.segments[site.segment].device
    if node.op in (SEND, RECV):
        return None
    own = _wires(case, node)
    votes = Counter(
        _wires(case, node_at(case.plan, other))
        for rank in range(case.plan.devices)
        if rank != device
        for other in case.named_nodes(rank, node.op, node.name)
    )
    due = max(votes, key=lambda wires: (votes[wires], wires), default=own)
    if due == own or tuple(map(len, due)) != tuple(map(len, own)):
        return None
    inputs = _tensors(case, device, node.inputs, own.inputs, due.inputs, made=True)
    outputs = _tensors(case, device, node.outputs, own.outputs, due.outputs, made=False)
    return None if inputs is None or outputs is None else node._replace(inputs=inputs, outputs=outputs)


def _wires(case: Case, node: Node) -> _Wires:
    tensors = case.plan.tensors

    def logicals(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(tensors[number].logical if number != ABSENT else ABSENT for number in numbers)

    return _Wires(logicals(node.inputs), logicals(node.outputs))


def _tensors(
    case: Case, device: int, present: tuple[int, ...], own: tuple[int, ...], due: tuple[int, ...], made: bool
) -> tuple[int, ...] | None:
    """Tensors of the device of the logical tensors that are due; those that are right stay. None where it has none.

    made: those that something produces, or that are given; else those that something reads or that are accumulators.
    """
    chosen: list[int] = []
    for tensor, logical, wanted in zip(present, own, due, strict=True):
        if logical == wanted:
            chosen.append(tensor)
        elif wanted == ABSENT:
            chosen.append(ABSENT)
        else:
            options = [
                t
                for t in case.shares[wanted]
                if t not in chosen and (case.is_there(device, t) if made else (device, t) in case.readers)
            ]
            if not options:
                return None
            chosen.append(options[-1])
    return tuple(chosen)
