"""What a proof of a pair must establish, read off what both plans declare and nothing else."""

from collections.abc import Hashable, Iterator

from verdict.graph import ABSENT, Held, Logical, Plan, Region, Shape, shard_axes
from verdict.lineage.cover import covers
from verdict.lineage.shards import Stated, stated, stated_end, together
from verdict.report import Due
from verdict.semantics import column_axes

LOSS, GRADIENT, OUTPUT = "the loss", "the gradient of", "the output"


def due_of(single: Plan, parallel: Plan) -> Due:
    """All declared outputs of the parallel plan, and those of the single-device plan that it does not declare whole."""
    return Due(tuple(_in_words(parallel)), tuple(_uncovered(single, parallel)))


def _kinds(plan: Plan) -> Iterator[tuple[str, Held]]:
    for kind, declared in ((LOSS, plan.losses), (GRADIENT, plan.gradients), (OUTPUT, plan.outputs)):
        for held in declared:
            yield kind, held


def _in_words(plan: Plan) -> Iterator[str]:
    for kind, held in _kinds(plan):
        yield f"{kind} {_name(plan, held)} on device {held.device}"


def _name(plan: Plan, held: Held) -> str:
    return plan.logicals[_logical(plan, held)].name


def _logical(plan: Plan, held: Held) -> int:
    return plan.tensors[held.tensor if held.weight == ABSENT else held.weight].logical


def _uncovered(single: Plan, parallel: Plan) -> Iterator[str]:
    """Declared outputs of the single-device plan that the regions of those of one kind, by origin or name, are not."""
    regions: dict[tuple[str, Hashable], set[Region]] = {}
    divided, axes = shard_axes(parallel), column_axes(single, parallel)
    for kind, held in _kinds(parallel):
        of_itself = held.weight == ABSENT
        must = stated(parallel, divided, held.tensor) if of_itself else stated_end(parallel, divided, held)
        logical = parallel.logicals[_logical(parallel, held)]
        axis = axes.get(held.tensor) if of_itself and kind == OUTPUT else None
        for key in _keys(kind, logical):
            regions.setdefault(key, set()).update(() if must is None else _held(must, parallel, axis, logical.shape))
    for kind, held in _kinds(single):
        logical = single.logicals[_logical(single, held)]
        if kind == LOSS:
            known_as = any(key in regions for key in _keys(kind, logical))
            if not parallel.losses or (len(single.losses) > 1 and not known_as):
                yield f"{LOSS} {logical.name}"
            continue
        known = [regions.get(key) for key in _keys(kind, logical)]
        if not any(found and _all(found, logical.shape) for found in known):
            yield f"{kind} {logical.name}"


def _held(must: Stated, plan: Plan, axis: int | None, column: Shape) -> Iterator[Region]:
    """The regions that all replicas and microbatches hold. axis: along which each has its own rows, of a `column`."""
    region = together(must, plan.replicas)
    if axis is None:
        yield region
        return
    (start, stop), size = region[axis], column[axis]
    whole = (start, stop) == (0, size)
    for begin in range(0, 1 if whole else size * plan.columns, size):
        end = size * plan.columns if whole else begin + stop
        yield (*region[:axis], (begin + start, end), *region[axis + 1 :])


def _keys(kind: str, logical: Logical) -> Iterator[tuple[str, Hashable]]:
    """What a declared output is known by: its origin, where it has one, and its name."""
    if logical.origin is not None:
        yield kind, ("origin", logical.origin)
    yield kind, logical.name


def _all(regions: set[Region], shape: tuple[int, ...]) -> bool:
    return covers(regions, shape)
