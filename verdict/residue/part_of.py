"""A node that works on intervals of some of its index axes, as the member of a stage that it would be."""

from collections.abc import Mapping

from verdict.graph import ABSENT, GRAD, Interval, Node, Plan, extent
from verdict.lineage import Meaning, Member, Signature, join_region
from verdict.lineage.columns import NO_COLUMN
from verdict.lineage.meaning import column_attrs
from verdict.lineage.transfer import transfer
from verdict.residue.flattened import shape_of


def signature_of(node: Node, plan: Plan) -> Signature:
    """What the meaning of a node of a plan of one column depends on."""
    logicals = [plan.logicals[plan.tensors[t].logical] if t != ABSENT else None for t in node.inputs]
    first: dict[int, int] = {}
    return Signature(
        op=node.op,
        attrs=node.attrs,
        shapes=tuple(shape_of(plan, tensor) if tensor != ABSENT else None for tensor in node.inputs),
        dtypes=tuple(logical.dtype if logical else "" for logical in logicals),
        columns=(NO_COLUMN,) * len(node.inputs),
        alias=tuple(first.setdefault(tensor, place) for place, tensor in enumerate(node.inputs)),
        grads=len(node.inputs) - len(node.outputs) if node.op.endswith(GRAD) else 0,
        wanted=tuple(tensor != ABSENT for tensor in node.outputs),
        arity=len(node.outputs),
    )


def part_of(meaning: Meaning, cut: Mapping[str, Interval]) -> Member | None:
    """A node that works on these intervals of its index axes, and on all of the others; None where there is none."""
    bounds = {name: (0, size) for name, size in meaning.sizes.items()} | dict(cut)
    regions = tuple(
        join_region(dims, bounds, meaning.sizes) if shape is not None else None
        for dims, shape in zip(meaning.read, meaning.signature.shapes, strict=True)
    )
    shapes = [extent(region) if region is not None else None for region in regions[meaning.signature.grads :]]
    attrs = column_attrs(meaning, meaning.signature.attrs, shapes, cut)
    found = transfer(meaning, attrs, regions, meaning.signature.wanted) if attrs is not None else None
    return found if isinstance(found, Member) else None
