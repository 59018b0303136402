"""A sum that lacks an addend: add the tensor that holds it, or let the node that computes it write it."""

from collections import Counter
from collections.abc import Iterator

from verdict.graph import ABSENT, SUM, Node
from verdict.lineage import Evidence
from verdict.lineage.reference import Bases
from verdict.ops import FACTS
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case
from verdict.repair.edits import Patch, node_at


def add_addend(case: Case, finding: Finding) -> Iterator[Candidate]:
    """What is missing in a sum, from a tensor of the rank that holds just that."""
    about = finding.evidence
    if not isinstance(about, Evidence) or about.value is None or case.walk is None:
        return
    device, tensor = about.places[0].device, about.tensors[0]
    held = Counter(share.base for share in about.value)
    missing = tuple(sorted((Counter(about.expected) - held).elements()))
    if tensor == ABSENT or not missing or held - Counter(about.expected):
        return
    region = about.region or case.plan.tensors[tensor].region
    totals = case.accumulators(device, tensor) if about.places[0].op == "output" else ()
    for total in totals:
        yield from _unwritten(case, device, total, missing)
    for other in sorted(case.walk.held[device]):
        if not case.is_accumulator(other) and case.is_right(device, other, missing, region):
            for total in totals or (tensor,):
                yield from _added(case, device, total, other, about)


def _added(case: Case, device: int, tensor: int, other: int, about: Evidence) -> Iterator[Candidate]:
    sentence = f"add {case.name(other)} to {case.name(tensor)}"
    maker = case.maker(device, other)
    if case.is_accumulator(tensor):
        if maker is not None:
            node = Node(SUM, (other,), (tensor,), (), case.name(tensor))
            yield Candidate(f"{sentence} after {case.named(maker)} on rank {device}", Patch(behind={maker: (node,)}))
        return
    for _, site in case.upstream(device, tensor):
        node = node_at(case.plan, site)
        addends = summands(node)
        if addends:
            instead = Node(SUM, (*addends, other), node.outputs, (), node.name)
            yield Candidate(f"{sentence} in {case.named(site)} on rank {device}", Patch(instead={site: (instead,)}))
            return
    place = about.places[0]
    for site in case.named_nodes(device, place.op, place.name):
        node = node_at(case.plan, site)
        if tensor in node.inputs:
            fresh = len(case.plan.tensors)
            inputs = tuple(fresh if one == tensor else one for one in node.inputs)
            total = Node(SUM, (tensor, other), (fresh,), (), case.name(tensor))
            patch = Patch(instead={site: (total, node._replace(inputs=inputs))}, tensors=(case.plan.tensors[tensor],))
            yield Candidate(f"{sentence} before {case.named(site)} on rank {device}", patch)


def _unwritten(case: Case, device: int, tensor: int, missing: Bases) -> Iterator[Candidate]:
    """The node on this rank that could compute what is missing, and does not write it."""
    if len(missing) != 1 or case.walk is None:
        return
    base = case.bases[missing[0]]
    if base.node == ABSENT:
        return
    places = {place for found in case.walk.members.get(base.node, {}).values() for place in found}
    for place in sorted(place for place in places if place.device == device):
        for site in case.named_nodes(device, place.op, place.name):
            node = node_at(case.plan, site)
            if base.output < len(node.outputs) and _unread(case, device, node.outputs[base.output]):
                outputs = (*node.outputs[: base.output], tensor, *node.outputs[base.output + 1 :])
                sentence = f"let {case.named(site)} on rank {device} add to {case.name(tensor)}"
                yield Candidate(sentence, Patch(instead={site: (node._replace(outputs=outputs),)}))
                return


def _unread(case: Case, device: int, tensor: int) -> bool:
    return tensor == ABSENT or not case.readers.get((device, tensor))


def summands(node: Node) -> tuple[int, ...]:
    """The tensors that a node adds up; none of a copy, and of a node that computes."""
    found = tuple(FACTS.addends(node.op, node.inputs, len(node.outputs)) or ())
    return found if len(found) > 1 else ()
