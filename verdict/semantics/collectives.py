"""The meaning of collectives: from what the members put in, in the order of the group, to what each gets back."""

from collections.abc import Iterator, Sequence
from itertools import repeat

from verdict.graph import Shape, chunks
from verdict.graph.lockstep import attribute
from verdict.semantics.domain import Domain, V
from verdict.semantics.site import Site
from verdict.semantics.wiring import axis_of

REDUCTIONS = frozenset({"sum", "max", "min", "avg", "mean"})
"""What `reduce` may be."""


def exchange(
    domain: Domain[V], sites: Sequence[Site], values: Sequence[V], shapes: Sequence[Shape]
) -> Iterator[V | None]:
    """For each member of a collective what it gets back, None where that is nothing.

    sites: the members, in the order of the group. values, shapes: what they put in; of a broadcast, what its root does.
    """
    first = sites[0]
    match first.step.node.op:
        case "broadcast":
            yield from repeat(values[0], len(sites))
        case "all_gather":
            axis = axis_of(first, "dim", shapes[0])
            yield from repeat(_joined(domain, values, shapes, axis, first), len(sites))
        case "all_to_all":
            yield from _exchanged(domain, sites, values, shapes)
        case "reduce_scatter":
            total, axis = _reduced(domain, values, shapes, first), axis_of(first, "dim", shapes[0])
            for position, site in enumerate(sites):
                yield piece(domain, total, shapes[0], axis, position, len(sites), site)
        case "reduce":
            total, root = _reduced(domain, values, shapes, first), attribute(first.step.node, "root")
            yield from (total if site.rank.device == root else None for site in sites)
        case _:
            yield from repeat(_reduced(domain, values, shapes, first), len(sites))


def piece(
    domain: Domain[V], value: V, shape: Shape, axis: int, position: int, pieces: int, site: Site
) -> V | None:  # fmt: skip
    """Piece number `position` of torch.chunk of a value of `shape`; None where there are fewer."""
    intervals = chunks(shape[axis], pieces)
    return domain.piece(value, axis, intervals[position], site) if position < len(intervals) else None


def _reduced(domain: Domain[V], values: Sequence[V], shapes: Sequence[Shape], site: Site) -> V:
    how = attribute(site.step.node, "reduce") or "sum"
    if how not in REDUCTIONS:
        raise site.fault(f"the reduction {how} is not known", ours=True)
    _require_alike(shapes, None, site)
    return domain.reduce(values, how, site) if len(values) > 1 else values[0]


def _joined(domain: Domain[V], values: Sequence[V], shapes: Sequence[Shape], axis: int, site: Site) -> V:
    _require_alike(shapes, axis, site)
    return domain.join(values, axis, site)


def _exchanged(
    domain: Domain[V], sites: Sequence[Site], values: Sequence[V], shapes: Sequence[Shape]
) -> Iterator[V | None]:
    """Member k gets piece k, along one axis, of every member's value, side by side along another one."""
    split, concat = (axis_of(sites[0], name, shapes[0]) for name in ("split_dim", "concat_dim"))
    _require_alike(shapes, concat, sites[0])
    for position, site in enumerate(sites):
        each = zip(values, shapes, strict=True)
        pieces = [piece(domain, value, shape, split, position, len(sites), site) for value, shape in each]
        whole = [part for part in pieces if part is not None]
        yield domain.join(whole, concat, site) if len(whole) == len(pieces) else None


def _require_alike(shapes: Sequence[Shape], axis: int | None, site: Site) -> None:
    """What members put in must have one shape, but for its size along `axis`. Raises Faulty."""
    if len({_beside(shape, axis) for shape in shapes}) > 1:
        told = " and ".join(str(list(shape)) for shape in dict.fromkeys(shapes))
        raise site.fault(f"what its members put in does not fit together: shapes {told}")


def _beside(shape: Shape, axis: int | None) -> tuple[object, ...]:
    return shape if axis is None else (len(shape), *shape[:axis], *shape[axis + 1 :])
