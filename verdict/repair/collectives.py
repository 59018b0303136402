"""Collectives that do not fit: their shapes, their groups, or the operation that the other members call."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping

from verdict.graph import COPY, Attrs, Node, Plan, extent
from verdict.graph.lockstep import CHUNK, COLLECTIVES, attribute
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, device_at, node_at, with_attrs
from verdict.repair.links import link

MISFIT = frozenset({"shape-mismatch", "wrong-collective", "wrong-slice", "wrong-group"})
TURNS = 2
"""How many of the calls that members disagree about are tried."""
DISAGREE = frozenset({"wrong-group", "wrong-collective", "deadlock", "wrong-order", "missing-reduction"})


def refit(case: Case, finding: Finding) -> Iterator[Candidate]:
    """In place of collectives whose shapes do not fit, those that make what is stated of what is put in."""
    if finding.code not in MISFIT:
        return
    together: dict[tuple[object, ...], dict[int, Site]] = defaultdict(dict)
    for site in _collectives(case.plan):
        node = node_at(case.plan, site)
        together[_transfer(case.plan, node)][device_at(case.plan, site)] = site
    for sites in together.values():
        if not any(_is_misfit(case.plan, node_at(case.plan, site)) for site in sites.values()):
            continue
        sources = {device: node_at(case.plan, site).inputs[0] for device, site in sites.items()}
        regions = {
            device: case.plan.tensors[node_at(case.plan, site).outputs[0]].region for device, site in sites.items()
        }
        instead: dict[Site, tuple[Node, ...]] = {}
        words: dict[str, None] = {}
        for device, site in sites.items():
            found = link(case, device, sources, regions)
            if found is None:
                break
            node = node_at(case.plan, site)
            channel = tuple(pair for pair in node.attrs if pair[0] == "channel" and found.op != COPY)
            instead[site] = (node._replace(op=found.op, attrs=tuple(sorted((*found.attrs, *channel)))),)
            words[f"{found.op} over {ranks_in_words(found.group)} in place of {case.named(site)}"] = None
        if len(instead) == len(sites):
            yield Candidate(" and ".join(words), Patch(instead=instead))


def agree(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The operation and the group that the other members of a collective call, or that all callers are."""
    if finding.code not in DISAGREE:
        return
    together: dict[tuple[object, ...], list[Site]] = defaultdict(list)
    for site in _collectives(case.plan):
        together[_transfer(case.plan, node_at(case.plan, site))].append(site)
    for turn in range(TURNS):
        instead: dict[Site, tuple[Node, ...]] = {}
        words: dict[str, None] = {}
        for sites in together.values():
            for site, right in _agreed(case.plan, sites, turn).items():
                node = node_at(case.plan, site)
                instead[site] = (right,)
                words[_in_words(node, right, device_at(case.plan, site))] = None
        if instead:
            shown = list(words)[:3]
            more = f", and {len(words) - 3} more" if len(words) > 3 else ""
            yield Candidate("; ".join(shown) + more, Patch(instead=instead))


def _collectives(plan: Plan) -> Iterator[Site]:
    for number, segment in enumerate(plan.segments):
        for at, node in enumerate(segment.nodes):
            if (node.op in COLLECTIVES or node.op == CHUNK) and node.inputs and node.outputs:
                yield Site(number, at)


def _transfer(plan: Plan, node: Node) -> tuple[object, ...]:
    """What the nodes of one logical transfer have in common on all ranks."""
    result = plan.tensors[node.outputs[0]]
    return (attribute(node, "channel"), node.name, result.logical)


def _is_misfit(plan: Plan, node: Node) -> bool:
    """Whether what a collective returns has another shape than what it is stated to return."""
    put_in, wanted = (list(extent(plan.tensors[tensor].region)) for tensor in (node.inputs[0], node.outputs[0]))
    size, dim = len(attribute(node, "ranks")), attribute(node, "dim")
    if node.op == "all_gather":
        put_in[dim] *= size
    if node.op in (CHUNK, "reduce_scatter"):
        return put_in[dim] <= wanted[dim] and size > 1
    return node.op != "all_to_all" and put_in != wanted


def _agreed(plan: Plan, sites: list[Site], turn: int) -> Mapping[Site, Node]:
    """The nodes of one transfer that do not call what the members of their group call, as they should be.

    turn: which of the calls is taken, by the size of the group and the number of those who call it so.
    """
    calls = {device_at(plan, site): (site, node_at(plan, site)) for site in sites}

    def sound(device: int) -> bool:
        ranks = attribute(calls[device][1], "ranks")
        return device in ranks and all(
            rank in calls and _asked(calls[rank][1]) == _asked(calls[device][1]) for rank in ranks
        )

    unsound = [device for device in calls if not sound(device)]
    met = {rank for device in unsound for rank in attribute(calls[device][1], "ranks")}
    wrong = [device for device in calls if device in unsound or device in met]
    right: dict[Site, Node] = {}
    votes = Counter(_asked(node) for _, node in calls.values())
    groups = {_asked(node): tuple(attribute(node, "ranks")) for _, node in calls.values()}
    for device in wrong:
        site, node = calls[device]
        fitting = [asked for asked, ranks in groups.items() if device in ranks and set(ranks) <= calls.keys()]
        fitting.sort(key=lambda asked: (-len(groups[asked]), -votes[asked]))
        if fitting:
            best = fitting[turn % len(fitting)]
            channel = tuple(pair for pair in node.attrs if pair[0] == "channel")
            found = node._replace(op=best[0], attrs=tuple(sorted((*best[1], *channel))))
        else:
            group = (device,) if attribute(node, "replicas") else tuple(sorted(wrong))
            found = with_attrs(node, ranks=group)
        if found != node:
            right[site] = found
    return right


def _asked(node: Node) -> tuple[str, Attrs]:
    return node.op, tuple(pair for pair in node.attrs if pair[0] != "channel")


def _in_words(node: Node, right: Node, device: int) -> str:
    group = ranks_in_words(tuple(attribute(right, "ranks")))
    if node.op != right.op:
        return f"{right.op} in place of {node.op} {node.name} on rank {device}, over {group}"
    if attribute(node, "ranks") != attribute(right, "ranks"):
        return f"{node.op} {node.name} on rank {device} over {group}"
    apart = [name for name, value in right.attrs if attribute(node, name) != value]
    return f"{node.op} {node.name} on rank {device} with the {', '.join(apart) or 'attributes'} of the other members"
