"""An operator that was left out: computed of what the rank holds, and read instead."""

from collections.abc import Iterator

from verdict.graph import ABSENT, GRAD, Node, Place
from verdict.lineage import Evidence
from verdict.lineage.reference import Bases, Partner
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, joined, node_at, with_input


def insert_operator(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The single-device node of what is expected, on every rank that reads something else, before it is read."""
    about = finding.evidence
    if finding.code != "wrong-input" or not isinstance(about, Evidence) or case.walk is None:
        return
    node = case.bases[about.expected[0]].node if len(about.expected) == 1 else ABSENT
    if node == ABSENT or about.places[0].op == "output":
        return
    partner = case.walk.reference.partners[node]
    output = case.bases[about.expected[0]].output
    found = [
        _inserted(case, place, tensor, partner, output)
        for place, tensor in dict(zip(about.places, about.tensors, strict=False)).items()
    ]
    patches = [patch for patch in found if patch is not None]
    patch, fits = joined(case.plan, patches)
    if patches and len(patches) == len(found) and all(fits):
        place = about.places[0]
        ranks = ranks_in_words(tuple(sorted({place.device for place in about.places})))
        sentence = f"{partner.node.op} {partner.node.name} before {place.op} {place.name} on {ranks}"
        yield Candidate(sentence, patch)


def _inserted(case: Case, place: Place, tensor: int, partner: Partner, output: int) -> Patch | None:
    """The node before the one at a place, with a new tensor that takes the place of `tensor` there."""
    inputs = [_holder(case, place.device, bases, tensor) for bases in partner.inputs]
    if tensor == ABSENT or None in inputs:
        return None
    for site in case.named_nodes(place.device, place.op, place.name):
        node = node_at(case.plan, site)
        if tensor in node.inputs:
            fresh = len(case.plan.tensors)
            count = len(partner.node.outputs)
            outputs = tuple(fresh if k == output else ABSENT for k in range(count))
            own = Node(partner.node.op, tuple(t for t in inputs if t is not None), outputs, partner.node.attrs, "")
            own = own._replace(name=partner.node.name.removesuffix(GRAD))
            return Patch(instead={site: (own, with_input(node, tensor, fresh))}, tensors=(case.plan.tensors[tensor],))
    return None


def _holder(case: Case, device: int, bases: Bases, like: int) -> int | None:
    """A tensor of the device that holds this sum, of the region of another one where there is such."""
    if not bases:
        return ABSENT
    region = case.plan.tensors[like].region if like != ABSENT else ()
    found = []
    for tensor in sorted(case.walk.held[device] if case.walk else ()):
        value = case.held(device, tensor)
        if value and not case.is_accumulator(tensor) and case.is_right(device, tensor, bases, value[0].region):
            found.append(tensor)
    return max(found, key=lambda tensor: case.plan.tensors[tensor].region == region, default=None)
