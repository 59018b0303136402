"""What collectives do to values: sums, concatenations and pieces, as steps of a flow."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from verdict.comparison import Fault, Faulty
from verdict.concrete.wiring import axis_of, chunks
from verdict.graph import ABSENT, Interval, Shape
from verdict.graph.lockstep import Step, attribute
from verdict.sweep.flow import CONCATENATE, PIECE, REDUCTIONS, Place


class Emit(Protocol):
    """Adds a step to the flow and returns the numbers of its outputs."""

    def __call__(self, op: str, inputs: Sequence[int], attrs: Mapping[str, Any], where: Place) -> tuple[int, ...]:
        """One step with one output."""


def shared(emit: Emit, first: Step, values: Sequence[int], shape: Shape, at: Place, where: str) -> int:
    """What all members of a collective share: the reduction, the concatenation, or the root's value.

    values: what they put in, each of `shape`, in the order of the group. ABSENT for an exchange of pieces.
    """
    op, how = first.node.op, attribute(first.node, "reduce") or "sum"
    if op == "broadcast":
        return values[0]
    if op == "all_gather":
        return emit(CONCATENATE, values, {"axis": axis_of(first, "dim", shape, where)}, at)[0]
    if op == "all_to_all":
        return ABSENT
    if how not in REDUCTIONS:
        raise Faulty(Fault(f"the reduction {how} is not known", where, ours=True))
    return emit(REDUCTIONS[how], values, {}, at)[0] if len(values) > 1 else values[0]


def member(
    emit: Emit, first: Step, values: Sequence[int], common: int, shape: Shape, position: int, at: Place, where: str
) -> int:
    """What the member at `position` of the group gets back. common: as `shared` made it."""
    if first.node.op == "reduce_scatter":
        axis = axis_of(first, "dim", shape, where)
        return piece(emit, common, axis, chunks(shape[axis], len(values)), position, at, where)
    if first.node.op != "all_to_all":
        return common
    split, concat = axis_of(first, "split_dim", shape, where), axis_of(first, "concat_dim", shape, where)
    intervals = chunks(shape[split], len(values))
    pieces = [piece(emit, value, split, intervals, position, at, where) for value in values]
    return emit(CONCATENATE, pieces, {"axis": concat}, at)[0]


def shape_of(first: Step, shapes: Sequence[Shape], position: int, where: str) -> Shape:
    """The shape of what the member at `position` gets back. shapes: of what they put in, in the order of the group."""
    op, made = first.node.op, list(shapes[0])
    if op in ("reduce_scatter", "all_to_all"):
        split = axis_of(first, "dim" if op == "reduce_scatter" else "split_dim", shapes[0], where)
        intervals = chunks(shapes[0][split], len(shapes))
        start, stop = intervals[position] if position < len(intervals) else (0, 0)
        made[split] = stop - start
    if op in ("all_gather", "all_to_all"):
        joined = axis_of(first, "dim" if op == "all_gather" else "concat_dim", shapes[0], where)
        alone = op == "all_to_all" and joined == split
        made[joined] = made[joined] * len(shapes) if alone else sum(shape[joined] for shape in shapes)
    return tuple(made)


def piece(
    emit: Emit, value: int, axis: int, intervals: Sequence[Interval], position: int, at: Place, where: str
) -> int:
    """One of the pieces into which a value is cut. Raises Faulty where there are fewer."""
    if position >= len(intervals):
        raise Faulty(Fault("nothing is made where an output is wanted", where))
    start, stop = intervals[position]
    return emit(PIECE, (value,), {"axis": axis, "start": start, "stop": stop}, at)[0]
