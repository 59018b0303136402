"""Operators whose schema does not tell what they write or share: FSDP2's copies in and out of flat buffers."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from verdict.backends.torch.arguments import Call
from verdict.backends.torch.memory import Memory, value_of
from verdict.backends.torch.trace import Value


def _reshape(emit: Any, value: int, found: Value, shape: tuple[int, ...]) -> int:
    if found.shape == shape:
        return value
    return int(emit("aten.view", (value,), (Value(shape, found.dtype),), {"size": shape})[0])


def _cast(emit: Any, value: int, found: Value, dtype: str) -> int:
    """What is copied into memory of another type is of that type from there on."""
    if found.dtype == dtype:
        return value
    return int(emit("aten._to_copy", (value,), (Value(found.shape, dtype),), {"dtype": dtype})[0])


def _flat(emit: Any, memory: Memory, tensor: Any) -> int:
    found = value_of(tensor)
    return _reshape(emit, memory.read(tensor), found, (tensor.numel(),))


def _copy_in(given: Mapping[str, Any], memory: Memory, emit: Any, outputs: Any) -> None:
    """The inputs, one after the other, are copied to this rank's part of the gathered buffer, which is returned too."""
    mine, whole = outputs
    memory.alias(mine, whole, None, "")
    tensors = given["all_gather_inputs"]
    values = tuple(_flat(emit, memory, tensor) for tensor in tensors)
    joined = emit("aten.cat", values, (value_of(mine),), {"tensors_count": len(values)})[0]
    memory.write(mine, joined)


def _split(given: Mapping[str, Any], memory: Memory, emit: Any, _: Any) -> None:
    """Consecutive pieces along `dim` are copied to `out`."""
    source = given["all_gather_output"]
    found, dim, start = value_of(source), given["dim"] % source.dim(), 0
    value = memory.read(source)
    for size, target in zip(given["all_gather_input_split_sizes"], given["out"], strict=True):
        made = Value((*found.shape[:dim], size, *found.shape[dim + 1 :]), found.dtype)
        attrs = {"dim": dim, "start": start, "end": start + size}
        part = emit("aten.slice.Tensor", (value,), (made,), {k: v for k, v in attrs.items() if k != "dim" or v})[0]
        to = value_of(target)
        memory.write(target, _reshape(emit, _cast(emit, part, made, to.dtype), Value(made.shape, to.dtype), to.shape))
        start += size


def _chunk_cat(given: Mapping[str, Any], memory: Memory, emit: Any, _: Any) -> None:
    """Each tensor is padded with zeros to `num_chunks` equal chunks; row k of the output holds all k-th chunks."""
    chunks, target = given["num_chunks"], value_of(given["out"])
    rows = []
    for tensor in given["tensors"]:
        found, value = value_of(tensor), memory.read(tensor)
        dim = 0
        short = -found.shape[dim] % chunks
        if short:
            made = Value((*found.shape[:dim], found.shape[dim] + short, *found.shape[dim + 1 :]), found.dtype)
            pad = (0, 0) * (len(found.shape) - 1 - dim) + (0, short)
            value, found = emit("aten.constant_pad_nd", (value,), (made,), {"pad": pad})[0], made
        value, found = _cast(emit, value, found, target.dtype), Value(found.shape, target.dtype)
        total = 1
        for size in found.shape:
            total *= size
        rows.append((_reshape(emit, value, found, (chunks, total // chunks)), total // chunks))
    made = Value((chunks, sum(width for _, width in rows)), target.dtype)
    attrs = {"dim": 1, "tensors_count": len(rows)}
    joined = emit("aten.cat", tuple(value for value, _ in rows), (made,), attrs)[0]
    memory.write(given["out"], _reshape(emit, joined, made, target.shape))


def _copy(given: Mapping[str, Any], memory: Memory, emit: Any, _: Any) -> None:
    memory.write(given["tensor"], memory.read(given["data"]))


class Fsdp(NamedTuple):
    """The operators of the namespace fsdp."""

    table: Mapping[str, Callable[..., None]]

    def knows(self, call: Call) -> bool:
        """Whether this call is one of those whose meaning stands here."""
        if call.name == "chunk_cat" and call.given["dim"] != 0:
            return False
        if call.name == "copy_" and value_of(call.given["tensor"]) != value_of(call.given["data"]):
            return False
        return call.name in self.table

    def record(self, call: Call, output: Any, memory: Memory, emit: Any) -> None:
        """Record a call that was run and returned `output`."""
        self.table[call.name](call.given, memory, emit, output)


fsdp = Fsdp({"all_gather_copy_in": _copy_in, "split_with_sizes_copy": _split, "chunk_cat": _chunk_cat, "copy_": _copy})
