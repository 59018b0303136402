"""Whether there is room for what is received: the shape and the number format of what the others send."""

from collections.abc import Hashable, Iterator, Sequence

from verdict.graph.lockstep import Step, attribute
from verdict.graph.plan import Node, Plan
from verdict.graph.region import Shape, chunks, extent

Problem = tuple[str, tuple[object, ...], Hashable, str]
"""The code, the cause, the kind and the sentence of a finding."""
BROADCAST, EXCHANGE = "broadcast", "all_to_all"


def misfits(plan: Plan, members: Sequence[tuple[int, Step]]) -> Iterator[tuple[int, Step, Problem]]:
    """The members of a collective, by device, that have no room for what they get."""
    op = members[0][1].node.op
    if op == BROADCAST:
        yield from _broadcast(plan, members)
    elif op == EXCHANGE and {step.node.op for _, step in members} == {EXCHANGE}:
        yield from _exchanged(plan, members)


def no_room(plan: Plan, node: Node, sent: Node) -> Problem | None:
    """Why what is sent does not fit where `node` receives it."""
    source, target = plan.tensors[sent.inputs[0]], plan.tensors[node.outputs[0]]
    shape, dtype = attribute(node, "shape"), attribute(node, "dtype")
    if shape is not None and shape != extent(source.region):
        title = f"it makes room for shape {list(shape)}, and is sent shape {list(extent(source.region))}"
        return "shape-mismatch", ("p2p", node.name), ("room", len(shape), len(source.region)), title
    formats = plan.logicals[source.logical].dtype, dtype or plan.logicals[target.logical].dtype
    if formats[0] != formats[1]:
        title = f"it makes room for {formats[1]}, and is sent {formats[0]}"
        return "dtype-differs", ("p2p", node.name), formats, title
    return None


def _broadcast(plan: Plan, members: Sequence[tuple[int, Step]]) -> Iterator[tuple[int, Step, Problem]]:
    """What the members receive is what the root puts in."""
    root = attribute(members[0][1].node, "root")
    sent = next((step.node for device, step in members if device == root and step.node.inputs), None)
    for device, step in members:
        if sent is None or device == root or not step.node.outputs:
            continue
        if problem := no_room(plan, step.node, sent):
            yield device, step, problem


def _exchanged(plan: Plan, members: Sequence[tuple[int, Step]]) -> Iterator[tuple[int, Step, Problem]]:
    """Each member receives its piece of what each puts in, side by side in the order of the group."""
    steps, node = dict(members), members[0][1].node
    ranks, split, concat = (attribute(node, name) for name in ("ranks", "split_dim", "concat_dim"))
    if set(ranks) != set(steps) or any(min(*step.node.inputs, *step.node.outputs) < 0 for step in steps.values()):
        return
    entered = [extent(plan.tensors[steps[rank].node.inputs[0]].region) for rank in ranks]
    if unlike := [rank for rank, shape in zip(ranks, entered, strict=True) if len(shape) != len(entered[0])]:
        numbers = [len(entered[ranks.index(rank)]) for rank in (unlike[0], ranks[0])]
        title = f"it puts in a tensor of {numbers[0]} dimensions, rank {ranks[0]} one of {numbers[1]}"
        yield unlike[0], steps[unlike[0]], ("shape-mismatch", ("p2p", node.name), "dimensions", title)
        return
    for position, rank in enumerate(ranks):
        step = steps[rank]
        room = extent(plan.tensors[step.node.outputs[0]].region)
        pieces = [_piece(shape, split, position, len(ranks)) for shape in entered]
        made = tuple(sum(piece[k] for piece in pieces) if k == concat else size for k, size in enumerate(pieces[0]))
        if made != room:
            title = f"it makes room for shape {list(room)}, and is sent shape {list(made)} by its group"
            yield rank, step, ("shape-mismatch", ("p2p", step.node.name), ("by group", len(room)), title)


def _piece(shape: Shape, axis: int, position: int, pieces: int) -> Shape:
    intervals = chunks(shape[axis], pieces)
    start, stop = intervals[position] if position < len(intervals) else (0, 0)
    return (*shape[:axis], stop - start, *shape[axis + 1 :])
