"""Faults of the form and of the schedule, with the two sides and the collective that would fit."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose.case import STRUCTURE, Case
from verdict.diagnose.scene import Scene, misdelivered, misdelivery
from verdict.graph import ABSENT, Fault, Node, Place, Plan, extent, spelled
from verdict.graph.check import misfit_of
from verdict.graph.lockstep import COLLECTIVES, RECV
from verdict.ops import RULES
from verdict.outcome import Finding
from verdict.words import ranks_text

WHOLE_SEGMENT = frozenset({"microbatch-missing", "microbatch-duplicated"})
"""Codes of findings about all nodes of a segment: the last one is shown."""


def structural_cases(plan: Plan, findings: Sequence[Finding], scene: Scene | None) -> Iterator[Case]:
    """One case for each finding of the door. scene: None where the values could not be looked at."""
    for number, finding in enumerate(findings):
        about = finding.evidence if isinstance(finding.evidence, Fault) else Fault()
        tensors = frozenset(plan.tensors[t].logical for t in about.tensors if t != ABSENT)
        found = replace(finding, ranks=tuple(sorted({place.device for place in about.places})))
        if scene is not None:
            found = _with_sides(scene, found, about)
        spots = frozenset(place.name for place in about.places)
        op = about.places[0].op if about.places else ""
        key = (found.code, found.kind, "" if found.code == "wrong-order" else op or found.where)
        yield Case(_of_receive(scene, found, about), key, (STRUCTURE, number), frozenset(), tensors, spots, op=op)


def _of_receive(scene: Scene | None, finding: Finding, about: Fault) -> Finding:
    """A receive that gets another tensor than it expects, because sends and receives have other orders."""
    if scene is None or finding.code != "shape-mismatch" or not about.places or about.places[0].op != RECV:
        return finding
    place = about.places[0]
    node = scene.node_at(place)
    source = scene.sources[place.device].get(node.outputs[0]) if node is not None else None
    if source is None or not misdelivered(scene, source):
        return finding
    return replace(finding, code="wrong-order", title=misdelivery(scene, place.device, source))


def _with_sides(scene: Scene, finding: Finding, about: Fault) -> Finding:
    places = [place for place in about.places[:8] if place.name]
    if finding.code in WHOLE_SEGMENT:
        places = list(about.places[-1:])
    touched = [(place, scene.node_at(place, _tensor_of(scene, place, about))) for place in places]
    nodes = [(place, node) for place, node in touched if node is not None]
    if not nodes:
        return finding
    place, node = nodes[0]
    partner = _partner(scene, node)
    found = replace(
        finding,
        modules=(scene.module(partner),),
        single=(scene.single_line(partner),) if partner != ABSENT else (),
        parallel=scene.parallel_lines([(place.device, node) for place, node in nodes[:4]]),
    )
    if finding.code == "shape-mismatch" and node.op in COLLECTIVES:
        return _collective(scene, found, place, node)
    if finding.code == "shape-mismatch" and partner != ABSENT:
        return _attributes(scene, found, node, scene.reference.partners[partner].node)
    if finding.code == "broken-data-flow":
        return replace(found, notes=(*found.notes, *_unread(scene, about)))
    return found


def _tensor_of(scene: Scene, place: Place, about: Fault) -> int:
    for node in scene.nodes.get((place.device, place.op, place.name), ()):
        for tensor in about.tensors:
            if tensor in node.inputs or tensor in node.outputs:
                return tensor
    return ABSENT


def _partner(scene: Scene, node: Node) -> int:
    """The single-device node whose result the node's outputs are named after; for people."""
    names = {scene.name(tensor) for tensor in (*node.outputs, *node.inputs) if tensor != ABSENT}
    alike = (k for k, partner in enumerate(scene.reference.partners) if partner.node.op == node.op)
    made = (base.node for base in scene.reference.bases if base.node != ABSENT and base.name in names)
    exact = (
        k for k in alike
        if any(b != ABSENT and scene.reference.bases[b].name in names for b in scene.reference.partners[k].outputs)
    )  # fmt: skip
    return next(exact, next(made, ABSENT))


def _attributes(scene: Scene, finding: Finding, node: Node, single: Node) -> Finding:
    """A node that makes what it states with the attributes of the single-device node, and not with its own."""
    own, due = dict(node.attrs), dict(single.attrs)
    apart = [name for name in sorted(own.keys() | due.keys()) if own.get(name) != due.get(name)]
    shapes = [[None if t == ABSENT else extent(scene.region(t)) for t in ts] for ts in (node.inputs, node.outputs)]
    if single.op != node.op or not apart:
        return finding
    if misfit_of(node._replace(attrs=single.attrs), tuple(shapes[0]), tuple(shapes[1]), RULES) is not None:
        return finding
    text = ", ".join(f"{name} is {own.get(name)!r}, expected {due.get(name)!r}" for name in apart)
    return replace(finding, title=f"{node.op}: {text}, on {ranks_text(finding.ranks)}: {finding.title}")


def _collective(scene: Scene, finding: Finding, place: Place, node: Node) -> Finding:
    """A collective that cannot make the region that it states; of its channel's pieces another one could."""
    given, stated = scene.region(node.inputs[0]), scene.region(node.outputs[0])
    if len(given) != len(stated):
        return finding
    apart = [k for k, (one, other) in enumerate(zip(given, stated, strict=True)) if one != other]
    if len(apart) != 1 or node.op == "all_gather":
        return finding
    (dim,) = apart
    pieces: dict[int, tuple[int, int]] = {}
    for (device, op, name), found in scene.nodes.items():
        alike = [n for n in found if (op, name) == (place.op, place.name) and scene.region(n.outputs[0]) == stated]
        piece = scene.region(alike[-1].inputs[0]) if alike else ()
        if len(piece) == len(stated):
            pieces[device] = piece[dim]
    ranks = tuple(sorted(pieces, key=lambda rank: pieces[rank]))
    ends = [stated[dim][0], *(pieces[rank][1] for rank in ranks)]
    if [pieces[rank][0] for rank in ranks] != ends[:-1] or ends[-1] != stated[dim][1]:
        return finding
    title = (
        f"{node.op} {node.name} on {ranks_text(sorted(ranks))} cannot make {spelled(stated)} "
        f"of {spelled(given)}; an all_gather along dimension {dim} could"
    )
    notes = (*finding.notes, f"shapes: {finding.title}")
    return replace(finding, code="wrong-collective", title=title, notes=notes, kind=node.op)


def _unread(scene: Scene, about: Fault) -> Iterator[str]:
    """Other shares of the tensor on the same rank that nothing reads: what should have been handed on."""
    place = about.places[0]
    logicals = {scene.parallel.tensors[tensor].logical for tensor in about.tensors}
    for tensor, source in scene.sources[place.device].items():
        if scene.parallel.tensors[tensor].logical not in logicals or tensor in about.tensors:
            continue
        nodes = [n for s in scene.parallel.segments if s.device == place.device for n in s.nodes]
        if not any(tensor in node.inputs for node in nodes):
            value = scene.held(place.device, tensor)
            part = next((share.part[0] for share in value or () if share.part), None)
            held = f", a part {part[1][0]}:{part[1][1]} of the sum over {part[0].size}" if part else ""
            yield (
                f"{source.node.op} {source.node.name} on rank {place.device} makes "
                f"{scene.name(tensor)}{spelled(scene.region(tensor))}{held}, which nothing reads"
            )
            return
