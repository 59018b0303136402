"""What communication does to the holdings: chunks, sends, and collectives among the ranks of a group."""

from collections.abc import Mapping, Sequence

from verdict.graph import Place, chunks
from verdict.graph.kept import is_recorded
from verdict.graph.lockstep import CHUNK, Step, attribute
from verdict.lineage.compare import Difference
from verdict.lineage.holdings import CHUNK_ORDER, Holdings
from verdict.lineage.lineages import Evidence
from verdict.lineage.shards import alike, gather, scatter
from verdict.lineage.values import Value, concatenate, piece
from verdict.outcome import Assumption


def place_of(device: int, step: Step) -> Place:
    """Where a step stands."""
    return Place(device, step.microbatch, step.node.name, step.node.op)


def chunk(holdings: Holdings, device: int, step: Step, value: Value, place: Place) -> Value | None:
    """The piece that the device's position in the group picks; by region where that is assumed."""
    ranks, dim = attribute(step.node, "ranks"), attribute(step.node, "dim")
    source, target = step.node.inputs[0], step.node.outputs[0]
    if attribute(step.node, "replicas"):
        return _among_replicas(holdings, step, value, place)
    if device not in ranks:
        found = Difference("wrong-group", ("chunk", ranks), f"rank {device} is not in its group {list(ranks)}")
        holdings.diverge(found, Evidence((place,), (target,)))
        return holdings.claim(target)
    intervals = chunks(holdings.shapes[source][dim], len(ranks))
    position = ranks.index(device)
    if holdings.by_region:
        tensors = holdings.plan.tensors
        start = tensors[target].region[dim][0] - tensors[source].region[dim][0]
        stated = next((k for k, cut in enumerate(intervals) if cut[0] == start), position)
        if stated != position:
            _trust_regions(holdings)
            position = stated
    return piece(value, dim, intervals[position]) if position < len(intervals) else None


def meet(holdings: Holdings, members: Mapping[int, Step]) -> None:
    """A collective of which all members have arrived."""
    device, first = next(iter(members.items()))
    ranks = tuple(attribute(first.node, "ranks"))
    place = place_of(device, first)
    put_in = {rank: holdings.read(rank, tensor) for rank in ranks for tensor in members[rank].node.inputs}
    known = {rank: value for rank, value in put_in.items() if value is not None}
    results: Sequence[Value | None] = [None] * len(ranks)
    if len({asked(step) for step in members.values()}) > 1:
        holdings.gap("the members of its group run different collectives", place)
    elif attribute(first.node, "replicas") and first.node.op != "all_reduce":
        if len(known) == len(ranks) == 1:
            results = [_among_replicas(holdings, first, known[ranks[0]], place)]
        elif len(known) == len(ranks):
            holdings.gap(f"{first.node.op} of several ranks on every replica has no rule", place)
    elif first.node.op == "broadcast":
        results = [_of_root(holdings, put_in, attribute(first.node, "root"), place)] * len(ranks)
    elif len(known) == len(ranks):
        results = _exchange(holdings, members, ranks, [known[rank] for rank in ranks], place)
    for rank, value in zip(ranks, results, strict=True):
        for tensor in members[rank].node.outputs:
            holdings.write(rank, tensor, value, place_of(rank, members[rank]))


def asked(step: Step) -> tuple[object, ...]:
    """What a member asks of its group."""
    return (step.node.op, *(value for value in step.node.attrs if value[0] != "channel"))


def _exchange(
    holdings: Holdings, members: Mapping[int, Step], ranks: tuple[int, ...], values: list[Value], place: Place
) -> Sequence[Value | None]:
    node = members[ranks[0]].node
    dim, reduce = attribute(node, "dim"), attribute(node, "reduce")
    if reduce not in (None, "sum"):
        holdings.gap(f"{node.op} with reduction {reduce} has no rule", place)
        return [None] * len(ranks)
    if node.op == "all_gather":
        return _gather(holdings, members, ranks, values, dim, place)
    if node.op == "all_to_all":
        return _all_to_all(values, attribute(node, "split_dim"), attribute(node, "concat_dim"))
    total = holdings.sum(values)
    if node.op == "all_reduce":
        return [_over_replicas(holdings, node.op, total, place) if attribute(node, "replicas") else total] * len(ranks)
    if node.op == "reduce_scatter":
        return [_piece(total, dim, k, len(ranks)) for k in range(len(ranks))]
    return [total if rank == attribute(node, "root") else None for rank in ranks]


def _over_replicas(holdings: Holdings, op: str, value: Value, place: Place) -> Value | None:
    total = holdings.over_replicas(value)
    if total is None:
        holdings.gap(
            f"{op}: it adds up pieces of which each replica has its own, and they are no parts of one sum", place
        )
    return total


def _among_replicas(holdings: Holdings, step: Step, value: Value, place: Place) -> Value | None:
    """What a device gets from, or gives to, the same device of all replicas: its piece, or the pieces of all."""
    node, replicas = step.node, holdings.plan.replicas
    dim, reduce = attribute(node, "dim"), attribute(node, "reduce")
    if reduce not in (None, "sum"):
        holdings.gap(f"{node.op} with reduction {reduce} has no rule", place)
        return None
    if node.op == "all_gather":
        if not all(alike(share, holdings.reference.bases) for share in value):
            holdings.gap(f"{node.op}: it joins what replicas have of columns of their own", place)
            return None
        target = node.outputs[0]
        whole = gather(value, dim, replicas)
        if whole is not None:
            return whole
        text = f"the replicas' pieces of {holdings.name(target)} that it joins are no one region"
        about = Evidence((place,), (target,), value)
        holdings.diverge(Difference("wrong-group", (place.name,), text), about)
        return holdings.claim(target)
    if node.op not in (CHUNK, "reduce_scatter"):
        holdings.gap(f"{node.op} among replicas has no rule", place)
        return None
    total = value if node.op == CHUNK else _over_replicas(holdings, node.op, value, place)
    if total is None:
        return None
    pieces = scatter(total, dim, replicas)
    if pieces is None:
        holdings.gap(f"{node.op}: replicas divide what they have divided already, or unevenly", place)
    return pieces


def _of_root(holdings: Holdings, put_in: Mapping[int, Value | None], root: int, place: Place) -> Value | None:
    if root not in put_in:
        holdings.gap(f"broadcast: its root, rank {root}, puts nothing in", place)
    return put_in.get(root)


def _all_to_all(values: list[Value], split_dim: int, concat_dim: int) -> list[Value | None]:
    received: list[Value | None] = []
    for k in range(len(values)):
        pieces = [_piece(value, split_dim, k, len(values)) for value in values]
        whole = [part for part in pieces if part is not None]
        received.append(concatenate(whole, concat_dim) if len(whole) == len(pieces) else None)
    return received


def _piece(value: Value, dim: int, position: int, pieces: int) -> Value | None:
    if not value:
        return value
    start, stop = value[0].region[dim]
    intervals = chunks(stop - start, pieces)
    return piece(value, dim, intervals[position]) if position < len(intervals) else None


def _gather(
    holdings: Holdings,
    members: Mapping[int, Step],
    ranks: tuple[int, ...],
    values: list[Value],
    dim: int,
    place: Place,
) -> list[Value | None]:
    result = concatenate(values, dim)
    if result is not None:
        return [result] * len(ranks)
    if holdings.by_region:
        stated = [holdings.plan.tensors[members[rank].node.inputs[0]].region[dim] for rank in ranks]
        result = concatenate([values[k] for k in sorted(range(len(ranks)), key=stated.__getitem__)], dim)
        if result is not None:
            _trust_regions(holdings)
            return [result] * len(ranks)
    order = sorted(range(len(ranks)), key=lambda k: values[k][0].region[dim] if values[k] else (0, 0))
    result = concatenate([values[k] for k in order], dim)
    targets = [members[rank].node.outputs[0] for rank in ranks]
    name = holdings.name(targets[0])
    held = ", ".join("{}:{}".format(*value[0].region[dim]) if value else "nothing" for value in values)
    if result is None:
        if is_recorded(holdings.plan) and any(concatenate(values, k) is not None for k in _other_dims(values, dim)):
            holdings.gap(f"all_gather lays what is cut along another dimension side by side along {dim}", place)
            return [None] * len(ranks)
        found = Difference(
            "wrong-group", (place.name,), f"the pieces of {name} that it joins are no one region: {held}"
        )
        holdings.diverge(found, Evidence((place,), (targets[0],), tuple(s for value in values for s in value)))
        return [holdings.claim(target) for target in targets]
    found = Difference(
        "wrong-order",
        ("gather",),
        f"the pieces of {name} arrive in the order ({', '.join(map(str, order))}) of the group",
    )
    due = tuple(share.base for share in result)
    pieces = tuple(share for value in values for share in value)
    holdings.diverge(
        found,
        Evidence((place,), (targets[0],), pieces, due, result[0].region),
        f"by the position in the group the ranks hold {held}",
        "let every member of the group hold the piece of its place; "
        f"or take the regions for granted with --assume {CHUNK_ORDER}",
    )
    return [result] * len(ranks)


def _other_dims(values: Sequence[Value], dim: int) -> list[int]:
    """The dimensions that all pieces have, but for one. Recorded programs gather lists, which lie side by side along
    dimension 0 whatever they are cut along, and are joined behind that.
    """
    count = min((len(share.region) for value in values for share in value), default=0)
    return [k for k in range(count) if k != dim]


def _trust_regions(holdings: Holdings) -> None:
    holdings.trust(
        Assumption(
            CHUNK_ORDER,
            "chunks and gathered pieces go by the regions that the plan states, not by the group's order",
        )
    )
