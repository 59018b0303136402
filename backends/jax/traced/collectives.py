"""Communication between devices as HLO writes it, and how values are gathered and cut outside of shard_map."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from verdict.backends.jax.traced.text import Mesh, Refused, Spec, Text, Value, spec_of


def _axes(params: Mapping[str, Any]) -> tuple[str, ...]:
    named = params["axes"] if "axes" in params else params["axis_name"]
    axes = named if isinstance(named, tuple | list) else (named,)
    if params.get("axis_index_groups") is not None or not all(isinstance(axis, str) for axis in axes):
        raise Refused("communication over groups of indices, or over dimensions, has no meaning here")
    return tuple(axes)


def _groups(mesh: Mesh, axes: Sequence[str]) -> str:
    listed = ",".join(f"{{{','.join(map(str, group))}}}" for group in mesh.groups(axes))
    return f"channel_id=1, replica_groups={{{listed}}}, use_global_device_ids=true"


def _reduced(opcode: str) -> Callable[[Text, Mapping[str, Any], Sequence[Value]], list[Value]]:
    def make(text: Text, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
        groups = _groups(text.mesh, _axes(params))
        return [
            text.line("all-reduce", (each,), each.shape, each.dtype,
                      f"{groups}, to_apply=%{text.reducer(opcode, each.dtype)}")
            for each in operands
        ]  # fmt: skip

    return make


def _gather(text: Text, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
    axes, dim = _axes(params), params["all_gather_dimension"]
    return [_gathered(text, each, axes, dim, params["tiled"]) for each in operands]


def _gathered(text: Text, each: Value, axes: Sequence[str], dim: int, tiled: bool) -> Value:
    if not tiled:
        each = _shaped(text, each, (*each.shape[:dim], 1, *each.shape[dim:]))
    shape = (*each.shape[:dim], each.shape[dim] * text.mesh.size(axes), *each.shape[dim + 1 :])
    return text.line("all-gather", (each,), shape, each.dtype, f"{_groups(text.mesh, axes)}, dimensions={{{dim}}}")


def _scatter(text: Text, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
    axes, dim = _axes(params), params["scatter_dimension"]
    made = []
    for each in operands:
        shape = (*each.shape[:dim], each.shape[dim] // text.mesh.size(axes), *each.shape[dim + 1 :])
        attrs = f"{_groups(text.mesh, axes)}, dimensions={{{dim}}}, to_apply=%{text.reducer('add', each.dtype)}"
        part = text.line("reduce-scatter", (each,), shape, each.dtype, attrs)
        made.append(part if params["tiled"] else _shaped(text, part, (*shape[:dim], *shape[dim + 1 :])))
    return made


def _exchange(text: Text, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
    """One dimension is cut into a piece for each member, the pieces that are got are joined along another one: what jax
    calls tiled or not differs in the equations around this one.
    """
    axes, split, joined = _axes(params), params["split_axis"], params["concat_axis"]
    members = text.mesh.size(axes)
    made = []
    for each in operands:
        shape = each.shape
        cut = _shaped(text, each, (*shape[:split], members, shape[split] // members, *shape[split + 1 :]))
        front = _moved(text, cut, split, 0)
        attrs = f"{_groups(text.mesh, axes)}, dimensions={{0}}"
        got = _moved(text, text.line("all-to-all", (front,), front.shape, each.dtype, attrs), 0, joined)
        size = (*got.shape[:joined], members * got.shape[joined + 1], *got.shape[joined + 2 :])
        made.append(_shaped(text, got, size))
    return made


def _permuted(text: Text, params: Mapping[str, Any], operands: Sequence[Value]) -> list[Value]:
    """Members have the numbers that jax gives them: those of the mesh, in whatever order the axes are named."""
    groups = [sorted(group) for group in text.mesh.groups(_axes(params))]
    for ends in zip(*params["perm"], strict=True):
        places = {end % len(groups[0]) for end in ends}
        if len(places) < len(ends) or not all(-len(groups[0]) <= end < len(groups[0]) for end in ends):
            raise Refused("a permutation names a device twice, or one that is not there")
    pairs = chain.from_iterable(((group[a], group[b]) for a, b in params["perm"]) for group in groups)
    listed = ",".join(f"{{{source},{target}}}" for source, target in pairs)
    attrs = f"channel_id=1, source_target_pairs={{{listed}}}"
    return [text.line("collective-permute", (each,), each.shape, each.dtype, attrs) for each in operands]


def _index(text: Text, params: Mapping[str, Any], _operands: Sequence[Value]) -> list[Value]:
    return [_place(text, _axes(params))]


def _place(text: Text, axes: Sequence[str]) -> Value:
    """Where a device is along axes."""
    places = [text.mesh.place(device, axes) for device in range(text.mesh.count)]
    table = text.constant(np.asarray(places, dtype=np.int32))
    number = text.line("partition-id", (), (), "u32")
    row = text.line("dynamic-slice", (table, number), (1,), "s32", "dynamic_slice_sizes={1}")
    return _shaped(text, row, ())


def gathered(text: Text, value: Value) -> Value:
    """All of a value, of which each device holds a part."""
    for dim, axes in enumerate(value.spec):
        if axes:
            value = _gathered(text, value, axes, dim, True)
    return value._replace(spec=())


def sliced(text: Text, value: Value, spec: Spec) -> Value:
    """The part of a value that a spec says."""
    if spec_of(value) == spec:
        return value
    value = gathered(text, value)
    for dim, axes in enumerate(spec):
        if not axes:
            continue
        size = value.shape[dim] // text.mesh.size(axes)
        shape = (*value.shape[:dim], size, *value.shape[dim + 1 :])
        step = text.constant(np.asarray(size, dtype=np.int32))
        start = text.line("multiply", (_place(text, axes), step), (), "s32")
        zero = text.constant(np.asarray(0, dtype=np.int32))
        starts = (value, *(start if each == dim else zero for each in range(len(shape))))
        sizes = f"dynamic_slice_sizes={{{','.join(map(str, shape))}}}"
        value = text.line("dynamic-slice", starts, shape, value.dtype, sizes)
    return value._replace(spec=spec)


def _shaped(text: Text, value: Value, shape: tuple[int, ...]) -> Value:
    return text.line("reshape", (value,), shape, value.dtype)


def _moved(text: Text, value: Value, source: int, target: int) -> Value:
    """A value with a dimension elsewhere."""
    order = [dim for dim in range(len(value.shape)) if dim != source]
    order.insert(target, source)
    shape = tuple(value.shape[dim] for dim in order)
    return text.line("transpose", (value,), shape, value.dtype, f"dimensions={{{','.join(map(str, order))}}}")


COLLECTIVES: Mapping[str, Callable[[Text, Mapping[str, Any], Sequence[Value]], list[Value]]] = {
    "psum": _reduced("add"),
    "psum_invariant": _reduced("add"),
    "pmax": _reduced("maximum"),
    "pmin": _reduced("minimum"),
    "all_gather": _gather,
    "all_gather_invariant": _gather,
    "reduce_scatter": _scatter,
    "all_to_all": _exchange,
    "ppermute": _permuted,
    "axis_index": _index,
}
