"""One replica instead of all, for the engine whose cost grows with the ranks.

Let every replica of the parallel plan run f on its share of the batch, let nothing but the final sum of losses and
gradients join the replicas, and let s be the single-device step S on one share. Then from

    f(x) = s(x) for one share                          which is asked of the sweep
    S(x_1, ..., x_R) = s(x_1) + ... + s(x_R)           which is asked of the walk: s itself, on R replicas

follows that the parallel plan computes S. Where the second holds and the first does not, the plan computes something
else: differences of functions that add up to zero on all shares would be constants, and R of them are one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from verdict.errors import PlanMismatchError, ShapeError
from verdict.graph import ABSENT, GRADIENT, ONCE_A_STEP, Attrs, Call, Held, Node, Plan, Segment, Shape, Tensor, whole
from verdict.graph.lockstep import attribute
from verdict.lineage import Meaning, Reference, bind, reference
from verdict.lineage.columns import NO_COLUMN, SUMMED, UNDECIDED
from verdict.lineage.meaning import column_attrs


class Split(NamedTuple):
    """single: the single-device step on one share of the batch. parallel: what computes on that share. copies:
    `single` on all shares, as replicas that add up its gradients.
    """

    single: Plan
    parallel: Plan
    copies: Plan


def split(single: Plan, parallel: Plan) -> Split | None:
    """A pair of plans, one replica apart from the others; None where replicas do more than to add up."""
    if parallel.replicas == 1 or not _only_add_up(parallel):
        return None
    return _apart(single, parallel, _alone(parallel), parallel.replicas)


def one_column(single: Plan, parallel: Plan) -> Split | None:
    """A pair of plans, one microbatch of one replica apart from the others; None where replicas do more than to add
    up, or where microbatches do not all run the same segments, each on its own tensors.
    """
    if parallel.columns == 1 or (parallel.replicas > 1 and not _only_add_up(parallel)) or not _alike(parallel):
        return None
    first = tuple(
        tuple(call for call in program if call.microbatch in (0, ONCE_A_STEP)) for program in parallel.programs
    )
    return _apart(single, parallel, replace(_alone(parallel), microbatches=1, programs=first), parallel.columns)


def _apart(single: Plan, parallel: Plan, alone: Plan, shares: int) -> Split | None:
    try:
        batch = bind(single, parallel).batch
        share = _share(reference(single, shares, batch))
    except (PlanMismatchError, ShapeError):
        return None
    return None if share is None else Split(share, alone, _copies(share, batch, shares))


def _alone(plan: Plan) -> Plan:
    mesh = tuple((name, 1 if size == plan.replicas else size) for name, size in plan.mesh[:1])
    return replace(plan, replicas=1, mesh=(*mesh, *plan.mesh[1:]))


def _alike(plan: Plan) -> bool:
    """Whether every microbatch runs the same segments on every device, and none reads what another one made."""
    if plan.outputs or any(call.crossed for program in plan.programs for call in program):
        return False
    for program in plan.programs:
        runs = [sorted(call.segment for call in program if call.microbatch == m) for m in range(plan.microbatches)]
        if any(run != runs[0] for run in runs):
            return False
    return True


def _only_add_up(plan: Plan) -> bool:
    """Whether replicas meet once, in sums that are declared as gradients and that nobody reads; every gradient is one.
    Where none is declared they do not meet.

    Only losses and gradients may be declared: an update depends on the sum.
    """
    if plan.outputs or plan.shard_axes:
        return False
    once = {call.segment for program in plan.programs for call in program if call.microbatch == ONCE_A_STEP}
    nodes = [(number, segment.device, node) for number, segment in enumerate(plan.segments) for node in segment.nodes]
    joins = [(number, device, node) for number, device, node in nodes if attribute(node, "replicas")]
    sums = all(
        number in once and node.op == "all_reduce" and attribute(node, "reduce") == "sum" for number, _, node in joins
    )
    made = {(device, node.outputs[0]) for _, device, node in joins}
    read = {(device, tensor) for _, device, node in nodes for tensor in node.inputs}
    calls = [call.segment for program in plan.programs for call in program]
    twice = any(calls.count(number) > 1 for number in {number for number, _, _ in joins})
    declared = {(held.device, held.tensor) for held in plan.gradients}
    return sums and not twice and made.isdisjoint(read) and made == declared and not _lost(plan, made)


def _lost(plan: Plan, made: set[tuple[int, int]]) -> bool:
    """Whether a loss is one of the sums over replicas: losses of replicas add up at the end."""
    return any((held.device, held.tensor) in made for held in plan.losses)


def _share(table: Reference) -> Plan | None:
    """The single-device plan on one column; None where it is not known what a column of some tensor is."""
    plan = table.plan
    shapes: dict[int, Shape] = {}
    for tensor, share in enumerate(plan.tensors):
        columns = {table.bases[base].column for base in table.values.get(tensor, ())}
        shape = plan.logicals[share.logical].shape
        if len(columns) > 1 or UNDECIDED in columns:
            return None
        (axis,) = columns or {NO_COLUMN}
        if axis not in (NO_COLUMN, SUMMED):
            shape = (*shape[:axis], shape[axis] // table.columns, *shape[axis + 1 :])
        if shapes.setdefault(share.logical, shape) != shape:
            return None
    logicals = tuple(
        logical._replace(shape=shapes.get(index, logical.shape)) for index, logical in enumerate(plan.logicals)
    )
    tensors = tuple(Tensor(share.logical, whole(logicals[share.logical].shape), share.part) for share in plan.tensors)
    known: dict[str, Attrs] = {}
    segments = []
    for segment in plan.segments:
        nodes = []
        for node in segment.nodes:
            shapes_read = [logicals[plan.tensors[t].logical].shape if t != ABSENT else () for t in node.inputs]
            attrs = _attrs(table, node, shapes_read)
            if attrs is None:
                return None
            nodes.append(node._replace(attrs=known.setdefault(repr(attrs), attrs)))
        segments.append(segment._replace(nodes=tuple(nodes)))
    return replace(plan, logicals=logicals, tensors=tensors, segments=tuple(segments))


def _attrs(table: Reference, node: Node, shapes: Sequence[Shape]) -> Attrs | None:
    """The attributes of a node on one column; None where they speak of places along the batch."""
    meaning = _meaning(table, node)
    return node.attrs if meaning is None else column_attrs(meaning, node.attrs, shapes[meaning.signature.grads :])


def _meaning(table: Reference, node: Node) -> Meaning | None:
    """What a node of the single-device plan means; None for copies and sums, which have no attributes of sizes."""
    inputs = tuple(table.values.get(tensor, ()) if tensor != ABSENT else () for tensor in node.inputs)
    found = (table.partners[index] for index in table.by_inputs.get((node.op, inputs), ()))
    return next((partner.meaning for partner in found if partner.node.attrs == node.attrs), None)


def _copies(share: Plan, batch: Mapping[int, int | None], replicas: int) -> Plan:
    """A plan of so many replicas, each of which runs `share`, that adds up the gradients of all."""
    logicals, tensors = list(share.logicals), list(share.tensors)
    nodes: dict[int, Node] = {}

    def added(held: Held) -> Held:
        if held.tensor not in nodes:
            own = share.logicals[share.tensors[held.tensor].logical]
            logicals.append(own._replace(name=f"{own.name} of all replicas", kind=GRADIENT))
            tensors.append(Tensor(len(logicals) - 1, whole(own.shape)))
            nodes[held.tensor] = _sum(held.tensor, len(tensors) - 1, logicals[-1].name)
        return held._replace(tensor=nodes[held.tensor].outputs[0])

    gradients = tuple(map(added, share.gradients))
    segments = (*share.segments, Segment("sum over replicas", 0, tuple(nodes.values())))
    return replace(
        share,
        mesh=(("dp", replicas),),
        replicas=replicas,
        logicals=tuple(logicals),
        tensors=tuple(tensors),
        segments=segments,
        programs=((*share.programs[0], Call(len(segments) - 1, ONCE_A_STEP)),),
        gradients=gradients,
        batch_axes=tuple(_axes(share, batch)),
    )


def _sum(tensor: int, total: int, name: str) -> Node:
    return Node("all_reduce", (tensor,), (total,), (("ranks", (0,)), ("reduce", "sum"), ("replicas", True)), name)


def _axes(share: Plan, batch: Mapping[int, int | None]) -> Iterator[tuple[str, int]]:
    for logical, axis in batch.items():
        if axis is not None:
            yield share.logicals[logical].name, axis
