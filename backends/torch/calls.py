"""Calls of communication: c10d's operators, which write in place, and the functional ones."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verdict.backends.torch.collectives import Communication, Unknown, member, ranks_of, reduction_of
from verdict.backends.torch.memory import value_of
from verdict.backends.torch.trace import Value

Arguments = Mapping[str, Any]


def in_place(op: str, given: Arguments, comm: Communication) -> None:  # noqa: PLR0912  (one case an operator)
    """Record the c10d operator `op`, receives aside. Raises Unknown for one that is not known."""
    ranks = ranks_of(given["process_group"])
    how = reduction_of(given["reduce_op"]) if "reduce_op" in given else ""
    match op:
        case "allreduce_" | "allreduce_coalesced_":
            for tensor in given["tensors"]:
                comm.write(tensor, comm.reduced(tensor, how, ranks))
        case "broadcast_":
            for tensor in given["tensors"]:
                comm.write(tensor, comm.broadcast(tensor, member(ranks, given["root_rank"]), ranks))
        case "reduce_":
            for tensor in given["tensors"]:
                comm.write(tensor, comm.to_root(tensor, member(ranks, given["root_rank"]), how, ranks))
        case "_allgather_base_":
            comm.gather_into(given["output_tensor"], given["input_tensor"], ranks)
        case "allgather_into_tensor_coalesced_":
            for output, source in zip(given["outputs"], given["inputs"], strict=True):
                comm.gather_into(output, source, ranks)
        case "allgather_":
            for outputs, source in zip(given["output_tensors"], given["input_tensors"], strict=True):
                comm.gather_list(outputs, source, ranks)
        case "gather_":
            value, made = comm.gathered(given["input_tensors"][0], ranks)
            for outputs in given["output_tensors"]:
                comm.spread(value, made, outputs)
        case "scatter_":
            lists = given["input_tensors"]
            comm.deal(given["output_tensors"][0], lists[0] if lists else (), member(ranks, given["root_rank"]), ranks)
        case "_reduce_scatter_base_":
            comm.scatter_from(given["output_tensor"], given["input_tensor"], how, ranks)
        case "reduce_scatter_tensor_coalesced_":
            for output, source in zip(given["outputs"], given["inputs"], strict=True):
                comm.scatter_from(output, source, how, ranks)
        case "reduce_scatter_":
            for output, sources in zip(given["output_tensors"], given["input_tensors"], strict=True):
                value, made = comm.joined(sources)
                out, piece = comm.scattered(value, made, how, ranks)
                comm.write(output, comm.view(out, piece.shape, value_of(output).shape, piece.dtype))
        case "alltoall_base_":
            _exchange(given, comm, ranks)
        case "alltoall_":
            _exchange_lists(given["output_tensors"], given["input_tensors"], comm, ranks)
        case "send":
            for tensor in given["tensors"]:
                comm.send(tensor, member(ranks, given["dst"]))
        case "barrier" | "monitored_barrier_":
            pass
        case _:
            raise Unknown(f"c10d.{op} is not known")


def _exchange(given: Arguments, comm: Communication, ranks: tuple[int, ...]) -> None:
    into, out_of = given["output_split_sizes"], given["input_split_sizes"]
    if value_of(given["output"]).shape[1:] != value_of(given["input"]).shape[1:]:
        if into or out_of:
            raise Unknown("an all_to_all_single that makes rows of one size of rows of another")
        comm.exchange_flat(given["output"], given["input"], ranks)
        return
    rows = value_of(given["output"]).shape[0]
    if (into or out_of) and not (into and out_of):
        into = into or [rows // len(ranks)] * len(ranks)
        out_of = out_of or [value_of(given["input"]).shape[0] // len(ranks)] * len(ranks)
    value, _ = comm.exchanged(given["input"], into, out_of, ranks)
    comm.write(given["output"], value)


def _exchange_lists(
    outputs: Sequence[Any], sources: Sequence[Any], comm: Communication, ranks: tuple[int, ...]
) -> None:
    value, whole = comm.joined(sources)
    into, out_of = ([(value_of(t).shape or (1,))[0] for t in tensors] for tensors in (outputs, sources))
    made = Value((sum(into), *whole.shape[1:]), whole.dtype)
    comm.spread(comm.exchange(value, whole, into, out_of, ranks), made, outputs)


_COPIED = frozenset({"all_reduce", "all_reduce_coalesced", "broadcast"})
"""Functional collectives that begin with a copy of what they are given, which may be written over at once."""


def in_flight(op: str, tensors: Sequence[Any]) -> Sequence[Any]:
    """Of what a functional collective is given, what it reads until it is waited for."""
    return () if op in _COPIED else tensors


def functional(op: str, given: Arguments, comm: Communication, read: Callable[[Any], int]) -> tuple[int, ...]:
    """Record the functional collective `op`; the values of its outputs. Raises Unknown for one that is not known."""
    ranks = ranks_of(given["group_name"])
    how = reduction_of(given["reduce_op"]) if "reduce_op" in given else ""
    match op:
        case "all_reduce" | "all_reduce_":
            return (comm.reduced(given["input"], how, ranks),)
        case "all_reduce_coalesced" | "all_reduce_coalesced_":
            return tuple(comm.reduced(tensor, how, ranks) for tensor in given["inputs"])
        case "all_gather_into_tensor" | "all_gather_into_tensor_out":
            return (comm.gathered(given["input"], ranks)[0],)
        case "all_gather_into_tensor_coalesced":
            return tuple(comm.gathered(tensor, ranks)[0] for tensor in given["inputs"])
        case "reduce_scatter_tensor":
            return (comm.scattered(read(given["input"]), value_of(given["input"]), how, ranks)[0],)
        case "reduce_scatter_tensor_coalesced":
            return tuple(comm.scattered(read(t), value_of(t), how, ranks)[0] for t in given["inputs"])
        case "all_to_all_single":
            into, out_of = given["output_split_sizes"], given["input_split_sizes"]
            return (comm.exchanged(given["input"], into, out_of, ranks)[0],)
        case "broadcast" | "broadcast_":
            return (comm.broadcast(given["input"], member(ranks, given["src"]), ranks),)
        case "shard_dim_alltoall":
            return (_redistributed(given, comm, ranks, read),)
        case _:
            raise Unknown(f"the collective {op} is not known")


def _redistributed(given: Arguments, comm: Communication, ranks: tuple[int, ...], read: Callable[[Any], int]) -> int:
    """DTensor's all_to_all from a shard along one dimension to a shard along another."""
    shape, dtype = value_of(given["input"])
    gather, split = given["gather_dim"] % len(shape), given["shard_dim"] % len(shape)
    if shape[split] % len(ranks):
        raise Unknown(f"an all_to_all that cuts {shape[split]} rows in {len(ranks)}")
    sizes = list(shape)
    sizes[split] //= len(ranks)
    sizes[gather] *= len(ranks)
    attrs = {"ranks": ranks, "split_dim": split, "concat_dim": gather}
    return comm.one("all_to_all", (read(given["input"]),), Value(tuple(sizes), dtype), **attrs)
