"""Crossings: from one way in which a value lies on the ranks of a stage to another, forward and backward.

Tensor parallelism is Megatron's. Every value lies on the tp ranks in one of three ways: whole on each, split evenly
along one axis, or as addends of a sum.

    enter(x)    forward nothing         backward all_reduce      before linears whose rows are split
    leave(y)    forward all_reduce      backward nothing         after linears whose columns are split
    gather(x)   forward all_gather      backward nothing but the own piece

With sequence parallelism what lies between leave and enter is scattered: tp ranks divide its positions.

    enter(x)    forward all_gather      backward reduce_scatter
    leave(y)    forward reduce_scatter  backward all_gather

Expert parallel ranks have samples of their own, and each a range of the experts, for the samples of all:

    spread(x)   forward all_gather      backward reduce_scatter
    collect(y)  forward reduce_scatter  backward all_gather

Source: Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models, MLSys 2023, section 4.2.
"""

from collections.abc import Hashable

from verdict.backends.generator.tape import Tape
from verdict.backends.generator.value import Value

TP, EP = ("tp",), ("ep",)


def enter(tape: Tape, x: Value) -> Value:
    """x for linears whose rows the tp ranks split."""
    if tape.tp == 1:
        return x
    if x.scattered:
        whole = tape.like(x, scattered=False, entered=True)
        tape.collective(tape.forward, "all_gather", x.tensor, whole.tensor, TP, x.name, dim=x.seq)
        tape.undo(lambda: _collect(tape, "reduce_scatter", whole, x, dim=x.seq, reduce="sum"))
        return whole
    entered = x._replace(use=tape.next_use(), entered=True)
    if x.trained:
        tape.undo(lambda: _collect(tape, "all_reduce", entered, x, reduce="sum"))
    return entered


def leave(tape: Tape, y: Value, scatter: bool = True) -> Value:
    """The sum of the addends that the tp ranks have of y; scattered, where sequences are, unless it shall not be."""
    if not y.addend:
        return y
    if scatter and tape.sizes.sp and y.seq is not None:
        share = tape.like(y, addend=False, scattered=True)
        tape.collective(tape.forward, "reduce_scatter", y.tensor, share.tensor, TP, y.name, dim=y.seq, reduce="sum")
        tape.undo(lambda: _collect(tape, "all_gather", share, y, dim=y.seq))
        return share
    whole = tape.like(y, addend=False)
    tape.collective(tape.forward, "all_reduce", y.tensor, whole.tensor, TP, y.name, reduce="sum")
    tape.undo(lambda: _hand_on(tape, whole, y))
    return whole


def greatest(tape: Tape, x: Value) -> Value:
    """The greatest of what the tp ranks have, element by element. It has no gradient."""
    if tape.tp == 1:
        return x
    most = tape.like(x)
    tape.collective(tape.forward, "all_reduce", x.tensor, most.tensor, TP, x.name, reduce="max")
    return most


def gather(tape: Tape, x: Value) -> Value:
    """x whole on every tp rank, of the pieces that they have."""
    if x.split is None:
        return x
    whole = tape.like(x, split=None)
    tape.collective(tape.forward, "all_gather", x.tensor, whole.tensor, TP, x.name, dim=x.split)
    tape.undo(lambda: _collect(tape, "chunk", whole, x, dim=x.split))
    return whole


def gather_positions(tape: Tape, x: Value) -> Value:
    """x with all positions on every tp rank, each of which does the same with them."""
    if not x.scattered:
        return x
    whole = tape.like(x, scattered=False)
    tape.collective(tape.forward, "all_gather", x.tensor, whole.tensor, TP, x.name, dim=x.seq)
    tape.undo(lambda: _collect(tape, "chunk", whole, x, dim=x.seq))
    return whole


def spread(tape: Tape, x: Value) -> Value:
    """x of the samples of all ep ranks, each of which does with them what the others do not."""
    if tape.mesh.size(*EP) == 1:
        return x
    whole = tape.like(x, gathered=True, entered=True, by="ep")
    tape.collective(tape.forward, "all_gather", x.tensor, whole.tensor, EP, x.name, dim=x.batch)
    tape.undo(lambda: _collect(tape, "reduce_scatter", whole, x, EP, dim=x.batch, reduce="sum"))
    return whole


def collect(tape: Tape, y: Value) -> Value:
    """The sum of the addends that the ep ranks have of y, to each of them that of its own samples."""
    if not y.gathered:
        return y
    own = tape.like(y, gathered=False, addend=False, by="tp")
    tape.collective(tape.forward, "reduce_scatter", y.tensor, own.tensor, EP, y.name, dim=y.batch, reduce="sum")
    tape.undo(lambda: _collect(tape, "all_gather", own, y, EP, dim=y.batch))
    return own


def _collect(tape: Tape, op: str, made: Value, x: Value, axes: tuple[str, ...] = TP, **attrs: Hashable) -> None:
    """The gradient of x from that of what a crossing made of it."""
    if made.use in tape.gradients and x.trained:
        gradient = tape.gradients[made.use]
        tape.collective(tape.backward, op, gradient, tape.gradient(x), axes, f"{x.name}.grad", **attrs)


def _hand_on(tape: Tape, made: Value, x: Value) -> None:
    if made.use in tape.gradients:
        tape.gradients[x.use] = tape.gradients[made.use]
