"""Plans whose loops are cut: what is guessed of them, whether two are alike, and whether one is of use."""

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from verdict.backends.hlo.devices import regions_of
from verdict.backends.hlo.induction import LOOP, Induction
from verdict.backends.hlo.infinities import infinite
from verdict.backends.hlo.loops import loops_of
from verdict.backends.hlo.ranges import Ranges
from verdict.backends.hlo.rows import Share, Shares
from verdict.backends.hlo.text import Array, Instruction, Module, Tuple, split
from verdict.backends.torch.trace import UNMODELLED, Step, Trace
from verdict.errors import PlanFileError
from verdict.graph import INPUT, Plan


class Cut(Enum):
    """What becomes of loops: they are unrolled, cut for an induction, also by rows, or turn a few times as a probe."""

    UNROLLED = "unrolled"
    PROBED = "probed"
    ARRAYS = "arrays"
    ROWS = "rows"


def guessed(stating: Sequence[Module], devices: int) -> Shares:
    """Of each loop of the module before the partitioner which part of its state each device holds."""
    return [_guess(loop, devices) for module in stating[:1] for loop in loops_of(module)]


def _guess(loop: Instruction, devices: int) -> Sequence[Share | None]:
    parts = loop.shape.parts if isinstance(loop.shape, Tuple) else ()
    text = loop.attrs.get("sharding", "")
    texts = split(text[1:-1]) if text.startswith("{{") else [text] * len(parts)

    def of(part: Array | Tuple, stated: str) -> Share | None:
        try:
            return Share("", part.dims, regions_of(stated, part.dims, devices)) if isinstance(part, Array) else None
        except ValueError:
            return None

    return [of(part, stated) for part, stated in zip(parts, texts, strict=False)]


def cut_alike(single: Plan, parallel: Plan) -> bool:
    """Whether two plans whose loops are cut have the same inputs and outputs for them, so that all conditions of an
    induction stand in both, and each of their nodes has a meaning.
    """

    def named(plan: Plan) -> set[tuple[str, tuple[int, ...], str, bool]]:
        due = {plan.tensors[held.tensor].logical for held in plan.outputs}
        return {
            (each.name, each.shape, each.dtype, number in due)
            for number, each in enumerate(plan.logicals)
            if each.kind == INPUT or number in due
        }

    nodes = (node for plan in (single, parallel) for segment in plan.segments for node in segment.nodes)
    return named(single) == named(parallel) and all(node.op != UNMODELLED for node in nodes)


def require_real(loops: Induction, steps: Sequence[Step], module: Module) -> None:
    """Cut loops must be of use, and hold real numbers alone. Raises PlanFileError."""
    beside = infinite(steps)
    outputs = [bound for bound in loops.bound if bound.kind == "output" and bound.name.startswith(LOOP)]
    due = {bound.value: bound.name for bound in outputs}
    named = [name for value, name in due.items() if beside is None or value in beside]
    problem = loops.problem or (f"{named[0]} may be infinite" if named else "")
    if problem or not due:
        raise PlanFileError(module.path, f"its loops are not cut: {problem or 'there are none'}")


def needed(trace: Trace, ranges: Ranges) -> Trace:
    """A trace without the inputs that nothing reads, but for those of which a range is stated."""
    read = {value for step in trace.steps for value in step.inputs}
    read |= {bound.value for bound in trace.bound if bound.kind == "output"}
    kept = (bound for bound in trace.bound if bound.kind == "output" or bound.value in read or bound.name in ranges)
    return replace(trace, bound=tuple(kept))
