"""Where the shares of logical tensors lie: inside of them, and, where replicas divide them, on which replica.

Shards over replicas (`Plan.shard_axes`) have regions in the coordinates of one replica. Where a device says [a, b)
along the axis, its n replicas together hold [n a, n b) of the whole, and replica r holds piece r of n of that. So
tensor parallel ranks may divide the same axis: their cut is the outer one, and that of the replicas the inner one.

Source: Rajbhandari et al., ZeRO, SC 2020; Megatron-LM's distributed optimizer divides what each rank has so.
"""

from collections.abc import Hashable, Iterator, Mapping

from verdict.graph.fault import Fault, Place
from verdict.graph.lockstep import attribute
from verdict.graph.plan import ABSENT, ONCE_A_STEP, Node, Plan
from verdict.graph.region import Region, Shape, extent, inside, spelled
from verdict.outcome import Finding

_DIVIDE = {"reduce_scatter": True, "chunk": True, "all_gather": False}
"""What goes over replicas and changes the shape: whether its output is a piece of its input, or the other way round."""


def shard_axes(plan: Plan) -> Mapping[int, int]:
    """For each logical tensor (by number) that replicas divide, the axis. One replica divides nothing."""
    if not plan.shard_axes or plan.replicas == 1:
        return {}
    named = dict(plan.shard_axes)
    return {index: named[logical.name] for index, logical in enumerate(plan.logicals) if logical.name in named}


def shard(region: Region, axis: int, replica: int, replicas: int) -> Region:
    """What `replica` of `replicas` holds, in the coordinates of the whole, where its device says `region`."""
    start, stop = region[axis]
    begin = start * replicas + replica * (stop - start)
    return (*region[:axis], (begin, begin + stop - start), *region[axis + 1 :])


def piece_of(region: Region, axis: int, replica: int, replicas: int) -> Region:
    """Piece `replica` of `replicas` even ones of a region, along `axis`."""
    start, stop = region[axis]
    size = (stop - start) // replicas
    return (*region[:axis], (start + replica * size, start + (replica + 1) * size), *region[axis + 1 :])


def times(shape: Shape, axis: int, replicas: int) -> Shape:
    """The shape of what `replicas` shards of `shape` are together."""
    return (*shape[:axis], shape[axis] * replicas, *shape[axis + 1 :])


def batch_axis(whole: Shape, column: Shape, columns: int) -> int | None:
    """The axis along which a column of the batch holds one of `columns` equal shares of `whole`; None where none is."""
    apart = [k for k, size in enumerate(whole) if size != column[k]] if len(whole) == len(column) else []
    return apart[0] if len(apart) == 1 and whole[apart[0]] == columns * column[apart[0]] else None


def check_regions(plan: Plan) -> tuple[Finding, ...]:
    """Every tensor is a box inside its logical tensor."""
    outside = [k for k, t in enumerate(plan.tensors) if not inside(t.region, plan.logicals[t.logical].shape)]
    if not outside:
        return ()
    first = plan.tensors[outside[0]]
    logical = plan.logicals[first.logical]
    return (
        Finding(
            "wrong-slice",
            f"the region {spelled(first.region)} is not inside shape {list(logical.shape)}",
            f"tensor {logical.name}",
            extent=len(outside),
            evidence=Fault(tensors=tuple(outside)),
            kind="outside",
        ),
    )


def check_shards(plan: Plan) -> tuple[Finding, ...]:
    """What goes over the replicas of one device has the shape of their pieces, which are even."""
    return tuple(dict(_unshapely(plan)).values())


def _unshapely(plan: Plan) -> Iterator[tuple[Hashable, Finding]]:
    """Findings by what is cut how: the last one stands for all that are alike."""
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op not in _DIVIDE or not attribute(node, "replicas") or ABSENT in (*node.inputs, *node.outputs):
                continue
            before, after = (extent(plan.tensors[tensor].region) for tensor in (*node.inputs, *node.outputs))
            whole, piece = (before, after) if _DIVIDE[node.op] else (after, before)
            if whole != times(piece, attribute(node, "dim"), plan.replicas):
                dim, place = attribute(node, "dim"), Place(segment.device, ONCE_A_STEP, node.name, node.op)
                yield (plan.tensors[node.outputs[0]].logical, piece, whole, dim), Finding(
                    "shape-mismatch",
                    f"{_named(plan, node)}: {plan.replicas} replicas' shards {list(piece)} along axis {dim} do not "
                    f"make {list(whole)}",
                    place.spelled,
                    evidence=Fault((place,), (*node.outputs,)),
                    kind=("shards", len(piece), len(whole)),
                )


def _named(plan: Plan, node: Node) -> str:
    return plan.logicals[plan.tensors[node.outputs[0]].logical].name
