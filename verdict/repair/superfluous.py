"""Something that is counted more often than once: a copy in place of a superfluous reduction, an addend less."""

from collections import Counter
from collections.abc import Iterator, Sequence

from verdict.graph import ABSENT, COPY, GRAD, SUM, Node, Region
from verdict.graph.lockstep import attribute
from verdict.lineage import Evidence
from verdict.lineage.reference import Bases
from verdict.ops import FACTS
from verdict.outcome import Finding
from verdict.repair.addends import summands
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, node_at, with_attrs, with_output


def drop_reduction(case: Case, finding: Finding) -> Iterator[Candidate]:
    """A copy in place of a reduction of what is whole already, or a reduction that leaves the replicas out."""
    about = finding.evidence
    if finding.code != "reduced-twice" or not isinstance(about, Evidence):
        return
    device, tensor = about.places[0].device, about.tensors[0]
    for _, site in case.upstream(device, tensor):
        node = node_at(case.plan, site)
        if node.op != "all_reduce" or not case.held(device, node.inputs[0]):
            continue
        sites = _members(case, site)
        group = ranks_in_words(tuple(sorted(attribute(node, "ranks"))))
        if attribute(node, "replicas"):
            narrow = {one: (with_attrs(node_at(case.plan, one), replicas=None),) for one in sites}
            yield Candidate(f"all_reduce {node.name} over {group} without the replicas", Patch(instead=narrow))
        elif not case.is_right(device, node.inputs[0], about.expected, about.region):
            continue
        copies = {one: (node_at(case.plan, one)._replace(op=COPY, attrs=()),) for one in sites}
        yield Candidate(f"no all_reduce {node.name} over {group}: its input is whole", Patch(instead=copies))


def drop_addend(case: Case, finding: Finding) -> Iterator[Candidate]:
    """A sum without an input that it should not have, or not twice."""
    about = finding.evidence
    if not isinstance(about, Evidence) or not about.value:
        return
    device, tensor = about.places[0].device, about.tensors[0]
    counted, due = Counter(share.base for share in about.value), Counter(about.expected)
    extra, missing = counted - due, tuple(sorted((due - counted).elements()))
    if not extra:
        return
    for _, site in case.upstream(device, tensor):
        node = node_at(case.plan, site)
        addends = summands(node)
        for position in reversed(range(len(addends))):
            held = Counter(share.base for share in case.held(device, addends[position]) or ())
            if held and not held - extra:
                yield from _exchanged(case, device, site, position, missing, about.region)
                yield _without(case, site, addends, position)
                break
    for root in case.accumulators(device, tensor):
        yield from _one_contribution_less(case, device, root)


def _members(case: Case, site: Site) -> tuple[Site, ...]:
    """The nodes with which a collective meets, on all members of its group."""
    node = node_at(case.plan, site)
    found = []
    for rank in attribute(node, "ranks"):
        sites = [
            other
            for other in case.named_nodes(rank, node.op, node.name)
            if attribute(node_at(case.plan, other), "ranks") == attribute(node, "ranks")
        ]
        found.extend(sites[:1])
    return tuple(found) or (site,)


def _without(case: Case, site: Site, addends: Sequence[int], position: int) -> Candidate:
    node = node_at(case.plan, site)
    rest = (*addends[:position], *addends[position + 1 :])
    instead = Node(SUM if len(rest) > 1 else COPY, rest, node.outputs, (), node.name)
    name, device = case.name(addends[position]), case.plan.segments[site.segment].device
    sentence = f"no second {name} (input {position}) in the sum {case.named(site)} on rank {device}"
    return Candidate(sentence, Patch(instead={site: (instead,)}))


def _exchanged(
    case: Case, device: int, site: Site, position: int, missing: Bases, region: Region
) -> Iterator[Candidate]:
    """Another input in place of the one that should not be there: one that holds what is missing."""
    node = node_at(case.plan, site)
    for tensor in sorted(case.walk.held[device]) if case.walk and missing else ():
        if not case.is_accumulator(tensor) and case.is_right(device, tensor, missing, region):
            inputs = (*node.inputs[:position], tensor, *node.inputs[position + 1 :])
            sentence = (
                f"{case.name(tensor)} instead of {case.name(node.inputs[position])} (input {position}) "
                f"in the sum {case.named(site)} on rank {device}"
            )
            yield Candidate(sentence, Patch(instead={site: (node._replace(inputs=inputs),)}))


def _one_contribution_less(case: Case, device: int, tensor: int) -> Iterator[Candidate]:
    """An accumulator to which a node less adds."""
    for site in reversed(case.makers.get((device, tensor), ())[1:]):
        node = node_at(case.plan, site)
        if node.op.endswith(GRAD):
            instead: tuple[Node, ...] = (with_output(node, tensor, ABSENT),)
        elif FACTS.addends(node.op, node.inputs, len(node.outputs)) is not None:
            instead = ()
        else:
            continue
        sentence = f"{case.named(site)} on rank {device} does not add to {case.name(tensor)}"
        yield Candidate(sentence, Patch(instead={site: instead}))
