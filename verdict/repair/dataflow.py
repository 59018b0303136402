"""Tensors that are read and that nothing produces: a collective, a message or a node that other ranks have."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from verdict.graph import ABSENT, INPUT, PER_STEP, Logical, Node
from verdict.graph.lockstep import RECV, SEND, attribute
from verdict.outcome import Finding
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, device_at, joined, node_at, with_attrs
from verdict.repair.links import Link, link
from verdict.repair.peers import unpaired_messages

CODES = frozenset({
    "broken-data-flow", "gradient-missing", "loss-missing", "wrong-group", "deadlock",
    "send-without-receive", "receive-without-send", "wrong-order",
})  # fmt: skip


def produce(case: Case, finding: Finding) -> Iterator[Candidate]:
    """What produces every tensor that is read and that nothing produces."""
    if finding.code not in CODES:
        return
    yield from _made_once(case)
    for targets in _missing(case).values():
        yield from _linked(case, targets)
        yield from _as_elsewhere(case, targets)
    yield from _messages(case)


def _made_once(case: Case) -> Iterator[Candidate]:
    """Without the second of two nodes that make one tensor of the same inputs."""
    instead: dict[Site, tuple[Node, ...]] = {}
    for (_, tensor), sites in case.makers.items():
        nodes = [node_at(case.plan, site) for site in sites]
        if len(sites) > 1 and tensor != ABSENT and not case.is_accumulator(tensor):
            instead |= {site: () for k, site in enumerate(sites) if nodes[k] in nodes[:k]}
    if instead:
        site = next(iter(instead))
        sentence = f"no second {case.named(site)} on rank {device_at(case.plan, site)}"
        yield Candidate(sentence, Patch(instead=instead))


def _missing(case: Case) -> Mapping[int, Mapping[int, int]]:
    """By logical tensor and device, the tensors that are read, or declared, and that nothing produces."""
    plan, found = case.plan, defaultdict[int, dict[int, int]](dict)
    declared = [(held.device, held.tensor) for held in (*plan.losses, *plan.gradients)]
    for device, tensor in sorted([*case.readers, *declared]):
        if tensor == ABSENT or (device, tensor) in case.makers or tensor in plan.seeds:
            continue
        if plan.kind(tensor) not in PER_STEP and plan.kind(tensor) != INPUT:
            found[plan.tensors[tensor].logical].setdefault(device, tensor)
    return found


def _linked(case: Case, targets: Mapping[int, int]) -> Iterator[Candidate]:
    """By a copy or a collective of what the ranks hold of the same logical tensor."""
    logical = case.plan.tensors[next(iter(targets.values()))].logical
    sources: dict[int, int] = {}
    for device, target in targets.items():
        made = [t for t in case.shares[logical] if t != target and case.maker(device, t) and case.held(device, t)]
        if not made:
            return
        sources[device] = made[0]
    regions = {device: case.plan.tensors[target].region for device, target in targets.items()}
    links: dict[int, Link] = {}
    for device in targets:
        found = link(case, device, sources, regions)
        if found is None:
            return
        links[device] = found
    behind: dict[Site, tuple[Node, ...]] = {}
    for device, found in links.items():
        maker = case.maker(device, sources[device])
        if maker is None:
            return
        behind[maker] = (
            Node(found.op, (sources[device],), (targets[device],), found.attrs, case.name(sources[device])),
        )
    first = next(iter(links.values()))
    site = next(iter(behind))
    what = "all_reduce(sum)" if first.op == "all_reduce" else first.op
    over = ranks_in_words(tuple(sorted(targets)))
    yield Candidate(f"{what} over {over} after {case.name(next(iter(targets.values())))} (node {case.named(site)})",
                    Patch(behind=behind))  # fmt: skip


def _as_elsewhere(case: Case, targets: Mapping[int, int]) -> Iterator[Candidate]:
    """By the node that makes the same logical tensor on another rank, of what this rank holds of its inputs."""
    patches, words = [], []
    for device, target in targets.items():
        found = _clone(case, device, target)
        if found is None:
            return
        patches.append(found[0])
        words.append(found[1])
    patch, held = joined(case.plan, patches)
    if all(held):
        yield Candidate(" and ".join(words), patch)


def _clone(case: Case, device: int, target: int) -> tuple[Patch, str] | None:
    share = case.plan.tensors[target]
    for other in case.shares[share.logical]:
        for rank in range(case.plan.devices):
            site = case.maker(rank, other)
            if rank == device or site is None:
                continue
            node = node_at(case.plan, site)
            if node.op in (RECV, SEND):
                continue
            inputs = [_own(case, device, tensor) for tensor in node.inputs]
            outputs = tuple(target if tensor == other else ABSENT for tensor in node.outputs)
            found = _behind_inputs(case, device, node, inputs, outputs)
            if found is not None:
                patch, where = found
                return patch, f"{case.named(site)} on rank {device}, as on rank {rank}, after {where}"
    return _as_single(case, device, target)


def _as_single(case: Case, device: int, target: int) -> tuple[Patch, str] | None:
    """The node that makes the logical tensor on the single device, of what this rank holds of its inputs."""
    single, plan = case.single, case.plan
    numbers = {_key(one): number for number, one in enumerate(plan.logicals)}

    def own(tensor: int) -> int | None:
        if tensor == ABSENT:
            return ABSENT
        number = numbers.get(_key(single.logicals[single.tensors[tensor].logical]), ABSENT)
        found = [t for t in case.shares.get(number, ()) if case.is_there(device, t)]
        return found[-1] if found else None

    wanted = _key(plan.logicals[plan.tensors[target].logical])
    for node in (node for segment in single.segments for node in segment.nodes):
        made = [_key(single.logicals[single.tensors[t].logical]) if t != ABSENT else None for t in node.outputs]
        if wanted in made:
            outputs = tuple(target if key == wanted else ABSENT for key in made)
            found = _behind_inputs(case, device, node, [own(tensor) for tensor in node.inputs], outputs)
            if found is not None:
                return found[0], f"{node.op} {node.name} on rank {device}, as on the single device, after {found[1]}"
    return None


def _key(logical: Logical) -> tuple[object, ...]:
    """What says that logical tensors of two plans may be the same one."""
    return (logical.kind, logical.origin, logical.name)


def _behind_inputs(
    case: Case, device: int, node: Node, inputs: Sequence[int | None], outputs: tuple[int, ...]
) -> tuple[Patch, str] | None:
    """The node with these tensors behind the last of the nodes that make its inputs; None where one is missing."""
    known = [tensor for tensor in inputs if tensor is not None]
    before = [maker for tensor in known if (maker := case.maker(device, tensor)) is not None]
    if len(known) < len(inputs) or not before:
        return None
    where = max(before)
    twin = node._replace(inputs=tuple(known), outputs=outputs)
    return Patch(behind={where: (twin,)}), case.named(where)


def _own(case: Case, device: int, tensor: int) -> int | None:
    """The tensor that takes the place of another rank's `tensor` on this device; None where there is none."""
    if tensor == ABSENT or case.is_there(device, tensor):
        return tensor
    own = [t for t in case.shares[case.plan.tensors[tensor].logical] if case.is_there(device, t)]
    return own[-1] if own else None


def _messages(case: Case) -> Iterator[Candidate]:
    """The missing end of each message that has one end only."""
    behind: dict[Site, tuple[Node, ...]] = {}
    instead: dict[Site, tuple[Node, ...]] = {}
    words = []
    sends, receives = unpaired_messages(case.plan)
    for site in sends:
        node, device = node_at(case.plan, site), device_at(case.plan, site)
        peer, tensor = attribute(node, "peer"), node.inputs[0]
        target = next((t for t in _unmade(case, peer) if case.plan.tensors[t] == case.plan.tensors[tensor]), None)
        if target is None:
            continue
        reader = min(case.readers[peer, target])
        receive = node._replace(op=RECV, inputs=(), outputs=(target,), attrs=with_attrs(node, peer=device).attrs)
        first = instead.get(reader, (node_at(case.plan, reader),))
        instead[reader] = (receive, *first)
        words.append(f"receive {node.name} from rank {device} on rank {peer} before {case.named(reader)}")
    for site in receives:
        node, device = node_at(case.plan, site), device_at(case.plan, site)
        peer, tensor = attribute(node, "peer"), node.outputs[0]
        shares = case.shares[case.plan.tensors[tensor].logical]
        made = [t for t in shares if case.plan.tensors[t] == case.plan.tensors[tensor] and case.maker(peer, t)]
        maker = case.maker(peer, made[0]) if made else None
        if maker is not None:
            send = node._replace(op=SEND, inputs=(made[0],), outputs=(), attrs=with_attrs(node, peer=device).attrs)
            behind[maker] = (*behind.get(maker, ()), send)
            words.append(f"send {node.name} from rank {peer} to rank {device} after {case.named(maker)}")
    if words:
        yield Candidate(" and ".join(words), Patch(instead=instead, behind=behind))


def _unmade(case: Case, device: int) -> list[int]:
    return sorted(
        tensor for where, tensor in case.readers
        if where == device and tensor != ABSENT and (device, tensor) not in case.makers
        and case.plan.kind(tensor) not in PER_STEP
    )  # fmt: skip
