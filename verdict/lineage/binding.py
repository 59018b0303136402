"""Which logical tensor of the parallel plan is which of the single-device plan, and how the batch is cut.

Hints (origin, name) are tried; they are never trusted: a wrong one fails its proof. What must hold is that
two different weights never stand for the same one.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from verdict.errors import PlanMismatchError
from verdict.graph import BUFFER, GIVEN, INPUT, WEIGHT, Logical, Plan, Shape, batch_axis, shard_axes, times
from verdict.graph.kept import is_recorded
from verdict.lineage.hints import Hints, require_ends
from verdict.ops.types import is_whole
from verdict.ops.types import kind as kind_of
from verdict.outcome import Assumption, Finding

INITIAL_STATE, INPUT_RANGES = "initial-state", "input-ranges"


class Unstated(NamedTuple):
    """An input of which ranks have a part along an axis."""

    name: str
    single: Shape
    parallel: Shape
    axis: int


class Binding(NamedTuple):
    """logical: parallel logical tensor -> single logical tensor. batch: single input -> its batch axis.

    unstated: inputs of a recorded program that are smaller than those of the single-device one, which part of them each
    rank has is not said.
    """

    logical: dict[int, int]
    batch: dict[int, int | None]
    findings: tuple[Finding, ...]
    assumptions: tuple[Assumption, ...]
    unstated: tuple[Unstated, ...] = ()


def bind(single: Plan, parallel: Plan) -> Binding:
    """Bind the inputs, weights and buffers of the two plans.

    Raises PlanMismatchError where they have nothing in common: other models, or the sides exchanged.
    """
    if single.ranks != 1 or single.columns != 1:
        raise PlanMismatchError(
            single.source,
            f"the single-device plan runs on {single.ranks} ranks with {single.microbatches} microbatches",
            "give the single-device plan to --sm and the parallel one to --pm",
        )
    logical = _by_hint(single, parallel)
    _require_common(single, parallel, logical)
    _require_partners(single, parallel, logical)
    require_ends(single, parallel)
    _require_ranges(single, parallel, logical)
    _require_types(single, parallel, logical)
    findings: list[Finding] = []
    unstated: list[Unstated] = []
    batch: dict[int, int | None] = {}
    assumptions = [Assumption(INITIAL_STATE, "weights and buffers that stand for each other start equal")]
    for index, tensor in enumerate(parallel.logicals):
        if tensor.kind != INPUT or index not in logical:
            continue
        partner = single.logicals[logical[index]]
        axis = batch_axis(partner.shape, tensor.shape, parallel.columns)
        whole = partner.shape == tensor.shape and parallel.columns == 1
        cut = _cut(partner.shape, tensor.shape) if is_recorded(parallel) else None
        if not whole and axis is None and cut is not None:
            unstated.append(Unstated(partner.name, partner.shape, tensor.shape, cut))
        elif not whole and axis is None:
            findings.append(_batch_mismatch(parallel, partner.name, partner.shape, tensor.shape))
        _require_stated(single, parallel, partner, tensor, axis)
        batch[logical[index]] = axis
    if single.ranges:
        assumptions.append(Assumption(INPUT_RANGES, ", ".join(_said(*stated) for stated in single.ranges)))
    return Binding(logical, batch, tuple(findings), tuple(assumptions), tuple(unstated))


def _said(name: str, low: int, high: int | None) -> str:
    """A range in words."""
    return f"{name} is never below {low}" if high is None else f"{name} lies between {low} and {high}"


def _cut(whole: Shape, own: Shape) -> int | None:
    """The axis along which a rank may have a part of an input, where that is the only one in which shapes differ."""
    apart = [k for k, (n, m) in enumerate(zip(whole, own, strict=False)) if n != m]
    if len(whole) != len(own) or len(apart) != 1:
        return None
    n, m = whole[apart[0]], own[apart[0]]
    return apart[0] if 0 < m < n and n % m == 0 else None


def _require_types(single: Plan, parallel: Plan, logical: Mapping[int, int]) -> None:
    """What both plans are given must be numbers of one kind in both: floats, truth values, or integers of one type."""
    for index, partner in logical.items():
        one, other = single.logicals[partner], parallel.logicals[index]
        if kind_of(one.dtype) != kind_of(other.dtype):
            problem = f"{other.name} holds {other.dtype}, in the single-device plan it is {one.dtype}"
            raise PlanMismatchError(parallel.source, problem, "give both plans the same numbers")


def _require_ranges(single: Plan, parallel: Plan, logical: Mapping[int, int]) -> None:
    """What a parallel plan says of the integers that it is given must be what the single-device plan says.

    What it says of real numbers is not used.
    """
    known = {name: (low, high) for name, low, high in single.ranges}
    names = {parallel.logicals[index].name: single.logicals[partner].name for index, partner in logical.items()}
    integers = {each.name for each in parallel.logicals if is_whole(kind_of(each.dtype))}
    for name, low, high in (stated for stated in parallel.ranges if stated[0] in integers):
        stated = known.get(names.get(name, name))
        if stated != (low, high):
            said = f"the single-device plan {f'says {stated[0]} to {stated[1]}' if stated else 'says nothing'}"
            problem = f"it says that {_said(name, low, high)}, {said}"
            raise PlanMismatchError(parallel.source, problem, "state the same ranges in both plans")


def _by_hint(single: Plan, parallel: Plan) -> dict[int, int]:
    hints = {kind: Hints(single, (k for k, t in enumerate(single.logicals) if t.kind == kind)) for kind in GIVEN}
    bound: dict[int, int] = {}
    divided = shard_axes(parallel)
    for index, share in enumerate(parallel.logicals):
        if share.kind not in hints:
            continue
        shape = times(share.shape, divided[index], parallel.replicas) if index in divided else share.shape
        tensor = share._replace(shape=shape)
        partner = hints[share.kind].of(tensor, parallel.source)
        if partner is not None and _fits(single.logicals[partner], tensor):
            bound[index] = partner
    _require_apart(single, parallel, bound)
    return bound


def _require_apart(single: Plan, parallel: Plan, bound: dict[int, int]) -> None:
    """No two tensors of the parallel plan stand for one of the single-device plan."""
    taken: dict[int, int] = {}
    for index, partner in bound.items():
        other = taken.setdefault(partner, index)
        if other != index:
            names = " and ".join(parallel.logicals[each].name for each in (other, index))
            raise PlanMismatchError(
                parallel.source,
                f"its {parallel.logicals[index].kind}s {names} both stand for {single.logicals[partner].name} in "
                f"{single.source}, by origin or name",
                "give each input, weight and buffer an origin, or a name, of its own",
            )


def _require_stated(single: Plan, parallel: Plan, partner: Logical, tensor: Logical, axis: int | None) -> None:
    """The axes that the plans state to split an input are the one along which their shapes differ."""
    stated = (parallel, tensor.name, parallel.batch_axes), (single, partner.name, single.batch_axes)
    axes = [(plan, dict(said)[name]) for plan, name, said in stated if name in dict(said)]
    for plan, said in axes:
        if said != (axes[0][1] if axis is None else axis):
            raise PlanMismatchError(
                plan.source,
                f"it says that the batch of {tensor.name} is split along axis {said}; the other plan, or the shapes "
                f"{list(partner.shape)} of the single-device plan and {list(tensor.shape)} of a column, say otherwise",
                f"say: batch {tensor.name} {axes[0][1] if axis is None else axis}, or nothing",
            )


def _fits(one: Logical, other: Logical) -> bool:
    return one.kind == other.kind and (one.kind == INPUT or one.shape == other.shape)


def _require_common(single: Plan, parallel: Plan, logical: dict[int, int]) -> None:
    for kind in (INPUT, WEIGHT):
        wanted = [t.name for t in single.logicals if t.kind == kind]
        if wanted and not any(parallel.logicals[index].kind == kind for index in (*logical, *shard_axes(parallel))):
            raise PlanMismatchError(
                parallel.source,
                f"it has no {kind} in common with {single.source}, which has {len(wanted)} ({_some(wanted)})",
                "the two plans must come from the same model"
                + ("; what is called otherwise is said in names" if is_recorded(parallel) else ""),
            )


def _require_partners(single: Plan, parallel: Plan, logical: dict[int, int]) -> None:
    known = {*logical, *shard_axes(parallel)}
    alone = [t.name for k, t in enumerate(parallel.logicals) if t.kind == WEIGHT and k not in known]
    buffers = [name for name in alone if any(t.kind == BUFFER and t.name == name for t in single.logicals)]
    if buffers:
        raise PlanMismatchError(
            parallel.source,
            f"{len(buffers)} of its weights ({_some(buffers)}) are buffers in {single.source}, not trained there",
            "freeze them in both, or in neither",
        )
    if alone:
        raise PlanMismatchError(
            parallel.source,
            f"{len(alone)} of its weights ({_some(alone)}) "
            f"are not in {single.source}, or have another shape there",
            "the two plans must come from the same model"
            + ("; what ranks hold a part of is said in specs" if is_recorded(parallel) else ""),
        )


def _some(names: Sequence[str]) -> str:
    return f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"


def _batch_mismatch(parallel: Plan, name: str, single: Shape, column: Shape) -> Finding:
    return Finding(
        code="batch-mismatch",
        title="the two plans do not work on the same global batch",
        where=f"input {name}",
        notes=(
            f"the single-device plan reads {name} of shape {list(single)}",
            f"the parallel plan reads shape {list(column)} in each of {parallel.replicas} replicas x "
            f"{parallel.microbatches} microbatches",
        ),
        help="make replicas x microbatches x local batch equal to the batch of the single-device plan",
    )
