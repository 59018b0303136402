"""From nnScaler's communication primitives to collectives, in the direction in which they run.

A primitive's `signature` is the function that runs. A fused primitive is one collective forward and another backward,
by autograd: those of adapters that are differentiable and not custom. What such an adapter does backward is therefore
what its forward adapter's primitive does, and any other primitive is called as it is.

`ranks` are devices of one replica, whatever their order in the file: the runtime looks a group up by the set of its
ranks, torch.distributed.new_group sorts them, and the position in that group decides the chunk. Pieces are even; a
receive makes room for the shape and the number format that its primitive names
(https://github.com/microsoft/nnscaler, nnscaler/runtime/device.py, nnscaler/runtime/adapter/collectives.py and nn.py,
nnscaler/ir/adapter/prim.py, nnscaler/codegen/emit.py, emit_adapter).
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

from verdict.backends.nnscaler.records import (
    IRFullTensor,
    IRSubTensor,
    MalformedError,
    Prim,
    Record,
    State,
    integer,
    integers,
    state,
)
from verdict.graph import Attrs

_PLAIN = {
    "IdentityPrim": "identity",
    "AllReducePrim": "all_reduce",
    "AllGatherPrim": "all_gather",
    "ReduceScatterPrim": "reduce_scatter",
    "AllToAllPrim": "all_to_all",
    "ChunkPrim": "chunk",
    "BroadcastPrim": "broadcast",
    "ReducePrim": "reduce",
    "MovePrim": "move",
}

_FUSED = {
    "AllReduceIdentityPrim": ("all_reduce", "identity"),
    "IdentityAllreducePrim": ("identity", "all_reduce"),
    "AllReduceAllReducePrim": ("all_reduce", "all_reduce"),
    "ReduceScatterAllGatherPrim": ("reduce_scatter", "all_gather"),
    "AllGatherReduceScatterPrim": ("all_gather", "reduce_scatter"),
    "AllGatherSplitPrim": ("all_gather", "chunk"),
    "SplitAllGatherPrim": ("chunk", "all_gather"),
    "AllToAllAllToAllPrim": ("all_to_all", "all_to_all"),
}
"""Name -> (what runs forward, what runs backward)."""

_RUNTIME = "nnscaler.runtime.adapter"
_FUNCTIONS = {
    **{name: f"{_RUNTIME}.{op}" for name, op in _PLAIN.items()},
    "AllReduceIdentityPrim": f"{_RUNTIME}.nn.allreduce_identity",
    "IdentityAllreducePrim": f"{_RUNTIME}.nn.identity_allreduce",
    "AllReduceAllReducePrim": f"{_RUNTIME}.nn.allreduce_allreduce",
    "ReduceScatterAllGatherPrim": f"{_RUNTIME}.nn.reducescatter_allgather",
    "AllGatherReduceScatterPrim": f"{_RUNTIME}.nn.allgather_reducescatter",
    "AllGatherSplitPrim": f"{_RUNTIME}.nn.allgather_split",
    "SplitAllGatherPrim": f"{_RUNTIME}.nn.split_allgather",
    "AllToAllAllToAllPrim": f"{_RUNTIME}.nn.alltoall_alltoall",
}
"""Name -> its `signature`."""

_ARGUMENTS = {
    "identity": {"ranks"},
    "all_reduce": {"ranks"},
    "all_gather": {"ranks", "dim"},
    "reduce_scatter": {"ranks", "dim"},
    "chunk": {"ranks", "dim"},
    "all_to_all": {"ranks", "idim", "odim"},
    "broadcast": {"ranks", "src", "shape", "dtype"},
    "reduce": {"ranks", "dst"},
    "move": {"src", "dst", "shape", "dtype"},
}


_NUMBERS = {"dim", "idim", "odim", "src", "dst"}


class Step(NamedTuple):
    """One communication of one device: an operator of the vocabulary on tensor records."""

    op: str
    attrs: Attrs
    inputs: list[Record]
    outputs: list[Record]


def steps(adapter: State, device: int) -> list[Step]:
    """What an adapter does on `device`, in order.

    The data of a differentiable adapter with one primitive are the adapter's own tensors: backward, the
    primitive is the one of the forward adapter and names its tensors. MalformedError where the file does not say twice
    alike what it says twice.
    """
    prims = adapter["_prims"]
    own = bool(adapter["_differentiable"]) and len(prims) == 1
    by_autograd = bool(adapter["_differentiable"]) and not adapter["custom"]
    if by_autograd:
        _require_alike(adapter)
    forward, channel = bool(adapter["_forward"]) or not by_autograd, integer(adapter["_id"], "the id of an adapter")
    made = []
    for prim in prims:
        if not isinstance(prim, Prim):
            raise MalformedError(f"expected a communication primitive, found {type(prim).__name__}")
        fields = state(prim, type(prim))
        _require_its_own(type(prim).__name__, fields)
        data = adapter if own else fields
        op, attrs = _meaning(type(prim).__name__, fields["kwargs"], data, forward, device)
        if _is_uneven(op, attrs, data):
            op = f"unknown:{type(prim).__name__}"
        if op not in {"identity", "chunk"}:
            attrs["channel"] = channel
        made.append(Step(op, tuple(sorted(attrs.items())), data["_inputs"], data["_outputs"]))
    return made


def _require_its_own(name: str, fields: State) -> None:
    """MalformedError where a primitive runs another function than its class says."""
    if fields["signature"] != _FUNCTIONS.get(name, fields["signature"]):
        raise MalformedError(f"a {name} that runs {fields['signature']} instead of {_FUNCTIONS[name]}")


def _require_alike(adapter: State) -> None:
    """MalformedError unless the primitive of an adapter that autograd goes backward through is one, has the adapter's
    tensors forward, and is the same backward. It may be missing: then nothing runs.
    """
    prims = adapter["_prims"]
    if not prims:
        return
    if len(prims) > 1:
        raise MalformedError(f"an adapter ({adapter['_id']}) that is left to autograd, of {len(prims)} primitives")
    mine = state(prims[0], type(prims[0]))
    if adapter["_forward"]:
        for side in ("_inputs", "_outputs"):
            if _ids(mine[side]) != _ids(adapter[side]):
                raise MalformedError(f"a {type(prims[0]).__name__} on other tensors than its adapter {adapter['_id']}")
        return
    others = adapter["_mirror"][0]["_prims"] if adapter["_mirror"] is not None else []
    if others and (len(others) > 1 or not _is_same(others[0], prims[0])):
        raise MalformedError(f"an adapter ({adapter['_id']}) with another primitive backward than forward")


def _ids(records: list[Record]) -> list[int]:
    return [state(record, IRSubTensor)["_id"] for record in records]


def _is_same(one: Record, other: Record) -> bool:
    """Whether two primitives call one function with the same arguments."""
    return one is other or (type(one) is type(other) and one[0]["kwargs"] == other[0]["kwargs"])


def _meaning(
    name: str, arguments: dict[str, Any], data: State, forward: bool, device: int
) -> tuple[str, dict[str, Hashable]]:
    op = _FUSED[name][0 if forward else 1] if name in _FUSED else _PLAIN.get(name)
    if op is None or not arguments.keys() <= _ARGUMENTS[op]:
        return f"unknown:{name}", {}
    missing = _ARGUMENTS[op] - arguments.keys() - ({"ranks"} if op == "identity" else set())
    if missing:
        raise MalformedError(f"a {name} without {', '.join(sorted(missing))}")
    numbers = {key: integer(arguments[key], f"{key} of a {name}") for key in _ARGUMENTS[op] & _NUMBERS}
    if op == "move":
        return _move(numbers["src"], numbers["dst"], arguments, data, device)
    if op == "identity":
        return op, {}
    attrs: dict[str, Hashable] = {"ranks": tuple(sorted(integers(arguments["ranks"], f"ranks of a {name}")))}
    if op == "all_reduce":
        attrs["reduce"] = "sum"
    elif op == "all_to_all":
        concat, split = numbers["idim"], numbers["odim"]
        if not forward and name in _FUSED:
            concat, split = split, concat
        attrs |= {"split_dim": split, "concat_dim": concat}
    elif op in {"broadcast", "reduce"}:
        attrs["root"] = numbers["src" if op == "broadcast" else "dst"]
        if op == "broadcast" and device != attrs["root"]:
            attrs |= _room(name, arguments, data)
    else:
        attrs["dim"] = numbers["dim"]
    return op, attrs


def _move(
    src: int, dst: int, arguments: dict[str, Any], data: State, device: int
) -> tuple[str, dict[str, Hashable]]:
    """A move as this device runs it: the source sends, everyone else must be the destination."""
    if device == src and data["_inputs"]:
        return "send", {"peer": dst}
    if device == dst and data["_outputs"] and not data["_inputs"]:
        return "recv", {"peer": src, **_room("MovePrim", arguments, data)}
    return "unknown:MovePrim", {"src": src, "dst": dst}


def _room(name: str, arguments: dict[str, Any], data: State) -> dict[str, Hashable]:
    """The shape and the number format that a receive makes room for, where they are not those of what it receives."""
    shape, dtype = integers(arguments["shape"], f"shape of a {name}"), arguments["dtype"]
    if type(dtype) is not str:
        raise MalformedError(f"a {name} whose dtype is a {type(dtype).__name__}")
    due = state(data["_outputs"][0], IRSubTensor) if len(data["_outputs"]) == 1 else None
    if due is None:
        return {}
    format_, known = dtype.removeprefix("torch."), str(state(due["_full_tensor"], IRFullTensor)["_dtype"])
    return {
        **({} if shape == tuple(due["_shape"]) else {"shape": shape}),
        **({} if format_ == known.removeprefix("torch.") else {"dtype": format_}),
    }


def _is_uneven(op: str, attrs: dict[str, Hashable], data: State) -> bool:
    """Whether what is cut or joined is neither so many even pieces, nor stated to be left as it is."""
    cuts = {"chunk": ("dim", True), "reduce_scatter": ("dim", True), "all_gather": ("dim", False)}
    if op == "all_to_all":
        ways = [("split_dim", True), ("concat_dim", False)]
    elif op in cuts:
        ways = [cuts[op]]
    else:
        return False
    pieces = len(attrs["ranks"])  # type: ignore[arg-type]
    for name, divides in ways:
        before, after = (_size(data[side], attrs[name]) for side in ("_inputs", "_outputs"))
        whole, piece = (before, after) if divides else (after, before)
        if whole not in (piece, piece * pieces):
            return True
    return False


def _size(records: list[Record], dim: Hashable) -> int:
    """The size of the only tensor along a dimension; 0 where there is no such tensor or dimension."""
    shape = state(records[0], IRSubTensor)["_shape"] if len(records) == 1 else ()
    return int(shape[dim]) if type(dim) is int and dim < len(shape) else 0
