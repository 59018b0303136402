"""Collectives on torch tensors: who takes part, and what each gets back for what all put in."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from verdict.comparison import Fault, Faulty
from verdict.graph.lockstep import Step, attribute

COMMON = ("ranks", "dim", "split_dim", "concat_dim", "root", "reduce", "replicas")
"""Attributes that all members of a collective must have in common."""
REDUCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "sum": lambda stacked: stacked.sum(0, dtype=stacked.dtype),
    "avg": lambda stacked: stacked.mean(0),
    "mean": lambda stacked: stacked.mean(0),
    "max": lambda stacked: stacked.amax(0),
    "min": lambda stacked: stacked.amin(0),
}


def group_of(members: Mapping[int, Step], place: Callable[[int, Step], str]) -> tuple[int, ...]:
    """The group in its order, if all members call the same collective."""
    device, first = next(iter(members.items()))
    ranks = tuple(attribute(first.node, "ranks"))
    if len(set(ranks)) != len(ranks) or set(ranks) != set(members):
        raise Faulty(Fault(f"devices {sorted(members)} meet in a collective of {list(ranks)}", place(device, first)))
    for other, step in members.items():
        alike = all(attribute(step.node, name) == attribute(first.node, name) for name in COMMON)
        if (step.node.op, step.microbatch) != (first.node.op, first.microbatch) or not alike:
            raise Faulty(Fault(f"device {other} takes part with {place(other, step)}", place(device, first)))
    return ranks


def piece(value: Any, dim: Any, position: int, pieces: int, where: str) -> Any:
    """Piece number `position` of as many as torch.chunk makes."""
    found = torch.chunk(value, pieces, _dim(value, dim, where))
    return found[position] if position < len(found) else None


def _dim(value: Any, dim: Any, where: str) -> int:
    if not isinstance(dim, int) or not -value.ndim <= dim < value.ndim:
        raise Faulty(Fault(f"{dim} is no dimension of a tensor of {value.ndim} dimensions", where))
    return dim


def exchange(step: Step, devices: Sequence[int], given: Sequence[Any], where: str) -> list[Any]:
    """What each member gets back. given: what it puts in, None where nothing."""
    node, count = step.node, len(devices)
    root = attribute(node, "root")
    if node.op in ("broadcast", "reduce") and root not in devices:
        raise Faulty(Fault(f"its root {root} is not in its group {list(devices)}", where))
    if node.op == "broadcast":
        value = given[devices.index(root)]
        if value is None:
            raise Faulty(Fault("its root puts nothing in", where))
        return [value] * count
    if any(value is None for value in given):
        raise Faulty(Fault("some members put nothing in", where))
    how = attribute(node, "reduce") or "sum"
    if node.op in ("all_reduce", "reduce", "reduce_scatter") and how not in REDUCTIONS:
        raise Faulty(Fault(f"the reduction {how} is not known", where, ours=True))
    try:
        return _exchange(step, devices, given, how, where)
    except (RuntimeError, IndexError, TypeError) as error:
        problem = f"what its members put in does not fit together: {str(error).splitlines()[0]}"
        raise Faulty(Fault(problem, where)) from None


def _exchange(step: Step, devices: Sequence[int], given: Sequence[Any], how: str, where: str) -> list[Any]:
    node, count = step.node, len(devices)
    match node.op:
        case "all_reduce":
            return [REDUCTIONS[how](torch.stack(list(given)))] * count
        case "reduce":
            total = REDUCTIONS[how](torch.stack(list(given)))
            return [total if device == attribute(node, "root") else None for device in devices]
        case "all_gather":
            return [torch.cat(list(given), _dim(given[0], attribute(node, "dim"), where))] * count
        case "reduce_scatter":
            total = REDUCTIONS[how](torch.stack(list(given)))
            return [piece(total, attribute(node, "dim"), at, count, where) for at in range(count)]
        case "all_to_all":
            split, concat = attribute(node, "split_dim"), attribute(node, "concat_dim")
            cut = [[piece(value, split, at, count, where) for value in given] for at in range(count)]
            return [None if any(p is None for p in row) else torch.cat(row, _dim(row[0], concat, where)) for row in cut]
        case _:
            raise Faulty(Fault(f"{node.op} is no collective", where, ours=True))
