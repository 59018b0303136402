"""From nnScaler's communication primitives to collectives, in the direction in which they run.

A fused primitive is one collective forward and another backward; which of them runs is the adapter's
`_forward`. `ranks` are devices of one replica, in the order of the file: the position decides the chunk
(https://github.com/microsoft/nnscaler, nnscaler/runtime/adapter/collectives.py and nn.py).
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

from backends.nnscaler.records import MalformedError, Prim, Record, State, integer, integers, state
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
    primitive is the one of the forward adapter and names its tensors.
    """
    prims = adapter["_prims"]
    own = bool(adapter["_differentiable"]) and len(prims) == 1
    forward, channel = bool(adapter["_forward"]), integer(adapter["_id"], "the id of an adapter")
    made = []
    for prim in prims:
        if not isinstance(prim, Prim):
            raise MalformedError(f"expected a communication primitive, found {type(prim).__name__}")
        fields = state(prim, type(prim))
        data = adapter if own else fields
        op, attrs = _meaning(type(prim).__name__, fields["kwargs"], data, forward, device)
        if op not in {"identity", "chunk"}:
            attrs["channel"] = channel
        made.append(Step(op, tuple(sorted(attrs.items())), data["_inputs"], data["_outputs"]))
    return made


def _meaning(
    name: str, arguments: dict[str, Any], data: State, forward: bool, device: int
) -> tuple[str, dict[str, Hashable]]:
    op = _FUSED[name][0 if forward else 1] if name in _FUSED else _PLAIN.get(name)
    if op is None or not arguments.keys() <= _ARGUMENTS[op]:
        return f"unknown:{name}", {}
    missing = _ARGUMENTS[op] - arguments.keys() - {"shape", "dtype"} - ({"ranks"} if op == "identity" else set())
    if missing:
        raise MalformedError(f"a {name} without {', '.join(sorted(missing))}")
    numbers = {key: integer(arguments[key], f"{key} of a {name}") for key in _ARGUMENTS[op] & _NUMBERS}
    if op == "move":
        return _move(numbers["src"], numbers["dst"], data, device)
    if op == "identity":
        return op, {}
    attrs: dict[str, Hashable] = {"ranks": integers(arguments["ranks"], f"ranks of a {name}")}
    if op == "all_reduce":
        attrs["reduce"] = "sum"
    elif op == "all_to_all":
        concat, split = numbers["idim"], numbers["odim"]
        if not forward and name in _FUSED:
            concat, split = split, concat
        attrs |= {"split_dim": split, "concat_dim": concat}
    elif op in {"broadcast", "reduce"}:
        attrs["root"] = numbers["src" if op == "broadcast" else "dst"]
    else:
        attrs["dim"] = numbers["dim"]
    return op, attrs


def _move(src: int, dst: int, data: State, device: int) -> tuple[str, dict[str, Hashable]]:
    """A move as this device runs it: the source sends, everyone else must be the destination."""
    if device == src and data["_inputs"]:
        return "send", {"peer": dst}
    if device == dst and data["_outputs"] and not data["_inputs"]:
        return "recv", {"peer": src}
    return "unknown:MovePrim", {"src": src, "dst": dst}
