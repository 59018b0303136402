"""A sum that is not complete: reduce it over the ranks that hold its parts, or over the replicas."""

from collections.abc import Iterator, Mapping

from verdict.graph import GRADIENT, ONCE_A_STEP, Attrs, Call, Logical, Node, Segment, Tensor
from verdict.graph.lockstep import COLLECTIVES
from verdict.lineage import Evidence, Value
from verdict.lineage.compare import are_parts, unreduced
from verdict.lineage.values import OVER_REPLICAS
from verdict.ops import FACTS
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, joined, node_at, with_output
from verdict.repair.links import Link, link

SHOWN = 3
"""How many weights a sentence names; the rest is counted."""


def reduce_parts(case: Case, finding: Finding) -> Iterator[Candidate]:
    """All-reduce what each rank holds a part of: in place of a copy or a narrower collective, or after its node."""
    about = finding.evidence
    if not isinstance(about, Evidence) or not _is_partial(about.value):
        return
    device, tensor = about.places[0].device, about.tensors[0]
    touched = {place.device for place in about.places}
    if case.is_accumulator(tensor):
        yield from _reduce_accumulators(case, device, tensor)
        return
    roots = [(root, site) for root, site in case.upstream(device, tensor) if _is_partial(case.held(device, root))]
    for root, site in sorted(roots, key=lambda found: not _gives_way(case, found[1])):
        members = {device: root, **_same_role(case, device, root, node_at(case.plan, site))}
        links = _links(case, members, sorted(touched & members.keys()))
        if links:
            patch, _ = joined(case.plan, [_reduced(case, members, one) for one in links])
            yield Candidate(_in_words(case, members, links, site), patch)


def reduce_origin(case: Case, finding: Finding) -> Iterator[Candidate]:
    """All-reduce the parts where they come from: behind the nodes whose sum was cut, however far they went on."""
    about = finding.evidence
    if not isinstance(about, Evidence) or case.walk is None:
        return
    labels = {label for share in about.value or () for label, _ in share.part}
    if len(labels) != 1:
        return
    (label,) = labels
    members: dict[int, int] = {}
    for device, held in enumerate(case.walk.held):
        made = (tensor for tensor, value in held.items() if are_parts(value or (), label, case.bases))
        tensor = next((tensor for tensor in made if not case.is_accumulator(tensor)), None)
        if tensor is not None:
            members[device] = _next_copy(case, device, tensor)
    links = _links(case, members, sorted(members))
    maker = case.maker(*next(iter(members.items()))) if members else None
    if links and maker is not None:
        patch, _ = joined(case.plan, [_reduced(case, members, one) for one in links])
        yield Candidate(_in_words(case, members, links, maker), patch)


def _next_copy(case: Case, device: int, tensor: int) -> int:
    """The result of the copy, or narrow reduction, that alone reads a tensor; else the tensor itself."""
    readers = case.readers.get((device, tensor), ())
    if len(readers) == 1 and _gives_way(case, readers[0]):
        (output,) = node_at(case.plan, readers[0]).outputs or (tensor,)
        return output if _is_partial(case.held(device, output)) else tensor
    return tensor


def reduce_over_replicas(case: Case, finding: Finding) -> Iterator[Candidate]:
    """Sum over the replicas each gradient that is declared without being so."""
    if finding.code != "missing-reduction" or case.plan.replicas == 1:
        return
    missing = [
        number
        for number, held in enumerate(case.plan.gradients)
        if unreduced(case.held(held.device, held.tensor) or (), case.bases, OVER_REPLICAS, "replicas") is not None
    ]
    if not missing:
        return
    attrs = {
        number: (("ranks", (case.plan.gradients[number].device,)), ("reduce", "sum"), ("replicas", True))
        for number in missing
    }
    sentence = f"all_reduce(sum) over the replicas of the gradient of {_weights(case, missing)}, once a step"
    yield Candidate(sentence, _once_a_step(case, attrs))


def _is_partial(value: Value | None) -> bool:
    return any(share.part for share in value or ())


def _gives_way(case: Case, site: Site) -> bool:
    """Whether a node is a copy or a reduction, in whose place a wider reduction may stand."""
    node = node_at(case.plan, site)
    return node.op in COLLECTIVES or (
        len(node.outputs) == 1 and FACTS.copies(node.op, len(node.inputs), len(node.outputs))
    )


def _same_role(case: Case, device: int, root: int, like: Node) -> Mapping[int, int]:
    """On other devices, the tensor that is there what `root` is here: of one logical tensor, made by a node alike."""
    found: dict[int, int] = {}
    for rank in range(case.plan.devices):
        for tensor in case.shares[case.plan.tensors[root].logical]:
            site = case.maker(rank, tensor)
            if rank == device or site is None or not _is_partial(case.held(rank, tensor)):
                continue
            node = node_at(case.plan, site)
            if (node.op, node.name) == (like.op, like.name):
                found[rank] = tensor
            else:
                found.setdefault(rank, tensor)
    return found


def _links(case: Case, members: Mapping[int, int], wanted: list[int]) -> list[Link]:
    """The all-reduces that make every one of the wanted devices whole; empty where one of them cannot be made so."""
    regions = {rank: (case.held(rank, tensor) or ())[0].region for rank, tensor in members.items()}
    links: list[Link] = []
    for device in wanted:
        if any(device in one.group for one in links):
            continue
        found = link(case, device, members, regions)
        if found is None or found.op != "all_reduce":
            return []
        links.append(found)
    return links


def _reduced(case: Case, members: Mapping[int, int], one: Link) -> Patch:
    """An all-reduce of each member's tensor, which keeps its number; what was put in gets a new one."""
    tensors: list[Tensor] = []
    instead: dict[Site, tuple[Node, ...]] = {}
    for rank in one.group:
        tensor = members[rank]
        site = case.maker(rank, tensor)
        if site is None:
            continue
        node = node_at(case.plan, site)
        if _gives_way(case, site):
            kept = tuple(pair for pair in node.attrs if pair[0] in ("channel", "replicas"))
            instead[site] = (node._replace(op=one.op, attrs=tuple(sorted((*one.attrs, *kept)))),)
            continue
        fresh = len(case.plan.tensors) + len(tensors)
        tensors.append(case.plan.tensors[tensor])
        reducer = Node(one.op, (fresh,), (tensor,), one.attrs, node.name)
        before = instead.get(site, (node,))
        instead[site] = (with_output(before[0], tensor, fresh), *before[1:], reducer)
    return Patch(instead=instead, tensors=tuple(tensors))


def _in_words(case: Case, members: Mapping[int, int], links: list[Link], site: Site) -> str:
    groups = " and over ".join(ranks_in_words(one.group) for one in links)
    where = "in place of" if _gives_way(case, site) else "after"
    tensor = next(iter(members.values()))
    return f"all_reduce(sum) over {groups} {where} {case.name(tensor)} (node {case.named(site)})"


def _reduce_accumulators(case: Case, device: int, tensor: int) -> Iterator[Candidate]:
    """Gradients that are declared as they were added up on one rank: reduced once a step over all that hold parts."""
    declared = {(held.device, held.tensor): number for number, held in enumerate(case.plan.gradients)}
    if (device, tensor) not in declared:
        return
    logical = case.plan.tensors[tensor].logical
    members = {
        rank: other
        for other in case.shares[logical]
        for rank in range(case.plan.devices)
        if (rank, other) in declared and _is_partial(case.held(rank, other))
    }
    links = _links(case, members, [device])
    if links:
        numbers = [declared[rank, members[rank]] for rank in links[0].group]
        sentence = (
            f"all_reduce(sum) over {ranks_in_words(links[0].group)} of the gradient of "
            f"{_weights(case, numbers)}, once a step"
        )
        yield Candidate(sentence, _once_a_step(case, dict.fromkeys(numbers, links[0].attrs)))


def _weights(case: Case, numbers: list[int]) -> str:
    names = sorted({case.name(case.plan.gradients[number].weight) for number in numbers})
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if names[SHOWN:] else "")


def _once_a_step(case: Case, attrs: Mapping[int, Attrs]) -> Patch:
    """All-reduces with these attributes of declared gradients, behind all else; their results are declared instead."""
    plan = case.plan
    logicals: list[Logical] = []
    tensors: list[Tensor] = []
    nodes: dict[int, list[Node]] = {}
    gradients = {}
    for number, wanted in attrs.items():
        held = plan.gradients[number]
        share = plan.tensors[held.tensor]
        logical = plan.logicals[share.logical]
        logicals.append(logical._replace(name=f"{logical.name}.reduced", kind=GRADIENT, origin=None))
        tensors.append(share._replace(logical=len(plan.logicals) + len(logicals) - 1))
        fresh = len(plan.tensors) + len(tensors) - 1
        reducer = Node("all_reduce", (held.tensor,), (fresh,), wanted, logicals[-1].name)
        nodes.setdefault(held.device, []).append(reducer)
        gradients[number] = held._replace(tensor=fresh)
    segments = tuple(Segment("reductions", device, tuple(found)) for device, found in nodes.items())
    return Patch(
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=segments,
        programs={
            segment.device: (*plan.programs[segment.device], Call(len(plan.segments) + number, ONCE_A_STEP))
            for number, segment in enumerate(segments)
        },
        gradients=gradients,
    )
