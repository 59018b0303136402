"""What a user's file hands to the recorder: one rank's training step, and what its tensors are shares of."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import index as whole_number
from typing import Any

from verdict.errors import UsageError


@dataclass(frozen=True, slots=True)
class Context:
    """Which rank is being built. The single-device program is rank 0 of a world of 1.

    The process group is initialised (its collectives move no data) before `build` is called.
    """

    rank: int = 0
    world: int = 1


@dataclass(frozen=True, slots=True)
class Share:
    """What a rank's tensor is of the single-device tensor.

    region: (dimension, start, stop, size) for each dimension of which the rank holds a part only.
    cuts: (dimension, index, count) for even pieces: piece `index` of `count`.
    part: i of n where the n parts, on the ranks that hold them, add up to the tensor.
    divisor: what the tensor is divided by before it is such a part: n for a mean over n.
    """

    region: tuple[tuple[int, int, int, int], ...] = ()
    cuts: tuple[tuple[int, int, int], ...] = ()
    part: tuple[int, int] = (0, 1)
    divisor: int = 1

    def __and__(self, other: "Share") -> "Share":
        """Both: cut along several dimensions, or cut and partial."""
        return Share(
            self.region + other.region,
            self.cuts + other.cuts,
            other.part if self.part == (0, 1) else self.part,
            self.divisor * other.divisor,
        )


REPLICATE = Share()
"""The whole tensor."""


def shard(dim: int, index: int, count: int) -> Share:
    """Piece `index` of `count` even pieces along `dim`."""
    dim, index, count = _numbers("shard", dim=dim, index=index, count=count)
    _require_place("shard", index, count)
    return Share(cuts=((dim, index, count),))


def piece(dim: int, start: int, stop: int, size: int) -> Share:
    """Elements `start` to `stop` of the `size` elements along `dim`; pieces may be uneven."""
    dim, start, stop, size = _numbers("piece", dim=dim, start=start, stop=stop, size=size)
    return Share(region=((dim, start, stop, size),))


def partial(index: int, count: int) -> Share:
    """Addend `index` of `count`: they add up to the tensor."""
    index, count = _numbers("partial", index=index, count=count)
    _require_place("partial", index, count)
    return Share(part=(index, count))


def mean(index: int, count: int) -> Share:
    """Value `index` of `count`, the mean of which is the tensor."""
    return replace(partial(index, count), divisor=whole_number(count))


def _numbers(function: str, **given: Any) -> list[int]:
    """What is given as whole numbers. Raises UsageError."""
    for name, value in given.items():
        if not hasattr(value, "__index__"):
            raise UsageError(function, f"its `{name}` is {value!r}", "give a whole number")
    return [whole_number(value) for value in given.values()]


def _require_place(function: str, index: int, count: int) -> None:
    """Counted from 0. Raises UsageError."""
    if not 0 <= index < count:
        raise UsageError(function, f"its `index` is {index}, of {count}", "count from 0, as ranks are")


@dataclass(frozen=True, slots=True)
class Program:
    """One training step of one rank, ready to be recorded.

    inputs: what comes from the data, by name; the same names in the single-device program.
    params: a module, or tensors by name. Those that require a gradient are weights, the others buffers. Compared is
        what a name stands for when the step has ended, whatever tensor stood there before.
    step: runs the step (forward, backward, optimizer) and returns the loss, or None on a rank that has none.
    outputs: called after the step; further tensors to compare, by name.
    optimizer: its tensor states are compared too, as `<parameter>.<state>`, and those of the optimizers that it holds;
        items of lists as `<parameter>.<state>[0]`.
    loss: what the returned loss is of the single-device loss.
    specs: by name, what a tensor is of the single-device tensor. For an input, a parameter, an output, or (where
        it differs from its parameter) `<parameter>.grad`. Of a DTensor the placements say it. Default: the whole.
    ranges: the least and the greatest integer of inputs and buffers of integers, by name, None for no greatest; of
        those of real numbers (0, None), none of which is negative: an assumption of the report. Default: all integers
        of their type at which the single-device program has a value, so ids are the rows of their table; (0, None) of
        buffers that batch norm reads as running variances and that hold no negative number.
    names: names of parameters here -> in the single-device program, where they differ (pipeline stages).
    inferred: what of all this nobody stated, in words; an assumption of the report.
    parallel: what parallelized the model, where `step` is not the user's own: what a library does for it is told there.
    """

    inputs: Mapping[str, Any]
    params: Any
    step: Callable[[], Any]
    outputs: Callable[[], Mapping[str, Any]] | None = None
    optimizer: Any = None
    loss: Share = REPLICATE
    specs: Mapping[str, Share] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    inferred: str = ""
    parallel: Callable[..., Any] | None = None


Load = Callable[[], Callable[[Context], Program]]
"""Imports the function that builds a program."""
