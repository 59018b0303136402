"""Collectives of a module as those of a plan. There is one replica; its devices are the partitions."""

from collections.abc import Sequence

import numpy as np

from verdict.backends.hlo.devices import Groups, groups_of, pairs_of
from verdict.backends.hlo.instruction import REDUCERS, At, named
from verdict.backends.hlo.text import DTYPES, Array, Instruction, Tuple
from verdict.backends.hlo.values import Found, Known, Leaf, Made, Refused
from verdict.backends.torch.trace import Value

REDUCING = frozenset({"all-reduce", "reduce-scatter"})
GATHERING = frozenset({"all-gather"})
COLLECTIVES = REDUCING | GATHERING | {"all-to-all", "collective-permute"}
OF_PLANS = frozenset({"sum", "max", "min"})
"""What collectives of a plan may reduce by."""


def communicated(at: At, rank: int, world: int) -> Found:
    """What a collective leaves on one device. Raises Refused."""
    if any(operand.dtype == "bool" for operand in at.operands) and at.each.opcode in REDUCING:
        raise Refused("a reduction of truth values over devices has no rule")
    if at.each.opcode == "collective-permute":
        return _permuted(at, rank, world)
    group = _group(at, rank, world)
    shapes = _shapes(at.each)
    if at.each.opcode == "all-to-all":
        if isinstance(at.each.shape, Tuple):
            return _exchanged_parts(at, group, shapes)
        dim = _dimension(at)
        return _collective(at, "all_to_all", at.operands[0], shapes[0], group, split_dim=dim, concat_dim=dim)
    if len(shapes) != len(at.operands):
        raise Refused("it makes another number of arrays than it reads")
    op, attrs = at.each.opcode.replace("-", "_"), {}
    if at.each.opcode in REDUCING:
        how = REDUCERS.get(at.reducer(), "")
        if how not in OF_PLANS:
            raise Refused(f"a reduction over devices by {how or 'it'} has no rule")
        attrs["reduce"] = how
    dims = {} if op == "all_reduce" else {"dim": _dimension(at)}
    made = tuple(
        _collective(at, op, operand, shape, group, **attrs, **dims)
        for operand, shape in zip(at.operands, shapes, strict=True)
    )
    return made if isinstance(at.each.shape, Tuple) else made[0]


def _group(at: At, rank: int, world: int) -> tuple[int, ...]:
    attrs = at.each.attrs
    flat = attrs.get("use_global_device_ids") == "true" or (at.each.opcode == "all-to-all" and "channel_id" in attrs)
    if not flat and "channel_id" not in attrs and world > 1:
        raise Refused("its groups are of replicas, of which there is one")
    try:
        groups: Groups = (tuple(range(world)),)
        if flat:
            groups = groups_of(attrs.get("replica_groups", ""), attrs.get("device_ids", ""), world)
        elif attrs.get("replica_groups", "") not in ("", "{}", "{{0}}"):
            raise Refused("its groups are of replicas and all of their partitions")
    except ValueError as error:
        raise Refused(str(error)) from None
    return next(group for group in groups if rank in group)


def _shapes(each: Instruction) -> tuple[Array, ...]:
    parts = each.shape.parts if isinstance(each.shape, Tuple) else (each.shape,)
    arrays = tuple(part for part in parts if isinstance(part, Array) and part.dtype in DTYPES)
    if len(arrays) < len(parts):
        raise Refused("it makes something that is no array of a known type")
    return arrays


def _dimension(at: At) -> int:
    found = at.numbers("dimensions")
    if len(found) != 1:
        raise Refused("it does not name one dimension")
    return found[0]


def _collective(at: At, op: str, operand: Leaf, shape: Array, group: tuple[int, ...], **attrs: object) -> Leaf:
    due = _due(op, operand.shape, len(group), attrs)
    if due != shape.dims:
        raise Refused(f"its shape is {list(shape.dims)} where {op} makes {list(due)} of {list(operand.shape)}")
    number = at.recording.number(operand)
    value = Value(shape.dims, DTYPES[shape.dtype])
    made = at.recording.tape.emit(op, (number,), (value,), {"ranks": group, **attrs}, named(at.each))[0]
    return Made(made, *value)


def _due(op: str, shape: tuple[int, ...], members: int, attrs: dict[str, object]) -> tuple[int, ...]:
    """The shape that a collective makes. Raises Refused."""
    dim = attrs.get("dim", attrs.get("split_dim"))
    if dim is None:
        return shape
    if not isinstance(dim, int) or not 0 <= dim < len(shape) or (op != "all_gather" and shape[dim] % members):
        raise Refused(f"dimension {dim} of {list(shape)} cannot be shared by {members}")
    size = {"all_gather": shape[dim] * members, "reduce_scatter": shape[dim] // members}.get(op, shape[dim])
    return (*shape[:dim], size, *shape[dim + 1 :])


def _exchanged_parts(at: At, group: tuple[int, ...], shapes: Sequence[Array]) -> tuple[Leaf, ...]:
    """Operand k goes to member k; what member k sent is part k of the tuple."""
    if len(at.operands) != len(group) or any(shape != shapes[0] for shape in shapes) or len(shapes) != len(group):
        raise Refused("it has not one array for each member of its group")
    dims, dtype = shapes[0].dims, DTYPES[shapes[0].dtype]
    if any(operand.shape != dims for operand in at.operands):
        raise Refused("its arrays differ in shape")
    record, name, row, all_of = at.recording, named(at.each), (1, *dims), (len(group), *dims)
    rows = tuple(record.emit("hlo.reshape", (x,), Value(row, dtype), name, {"size": row}) for x in at.operands)
    side = record.emit("hlo.concatenate", rows, Value(all_of, dtype), name, {"dim": 0})
    got = _collective(at, "all_to_all", side, Array(shapes[0].dtype, all_of), group, split_dim=0, concat_dim=0)
    parts = []
    for k in range(len(group)):
        cut = {"starts": (k, *(0 for _ in dims)), "limits": (k + 1, *dims), "strides": (1,) * len(row)}
        part = record.emit("hlo.slice", (got,), Value(row, dtype), name, cut)
        parts.append(record.emit("hlo.reshape", (part,), Value(dims, dtype), name, {"size": dims}))
    return tuple(parts)


def _permuted(at: At, rank: int, world: int) -> Leaf:
    """What a device is sent; zeros where nobody sends it anything."""
    if "channel_id" not in at.each.attrs and world > 1:
        raise Refused("it permutes replicas, of which there is one")
    (shape,) = _shapes(at.each)
    if len(at.operands) != 1 or at.operands[0].shape != shape.dims:
        raise Refused("a permutation of several arrays has no rule")
    try:
        pairs = pairs_of(at.each.attrs.get("source_target_pairs", "{}"), world)
    except ValueError as error:
        raise Refused(str(error)) from None
    value = Value(shape.dims, DTYPES[shape.dtype])
    number, name = at.recording.number(at.operands[0]), named(at.each)
    sources = {target: source for source, target in pairs}
    for source, target in pairs:
        if source == rank and target != rank:
            at.recording.tape.emit("send", (number,), (), {"peer": target}, name)
    if sources.get(rank) == rank:
        return at.operands[0]
    if rank in sources:
        attrs = {"peer": sources[rank]}
        return Made(at.recording.tape.emit("recv", (), (value,), attrs, name)[0], *value)
    zero = Known(np.zeros((), dtype=np.int64), value.dtype)
    nothing = at.recording.constant((0,), (), value.dtype) if "float" in value.dtype else zero
    return at.recording.emit("hlo.broadcast", (nothing,), value, name, {"size": value.shape, "dims": ()})
