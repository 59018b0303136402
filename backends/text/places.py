"""At which line of its text something in a plan stands."""

from collections.abc import Mapping, Sequence

from verdict.backends.text.program import Program
from verdict.graph import Plan
from verdict.graph.misfit import CALL, GRADIENT_OF, LOSS, NODE, OUTPUT, SEED, STORAGE, TENSOR, At

OF_FAMILIES = frozenset({TENSOR, LOSS, GRADIENT_OF, OUTPUT, SEED, STORAGE})
"""The kinds of things that stand in families and are numbered in the order of the devices."""


def line_of(at: At, plan: Plan, lines: Mapping[str, Sequence[int]], programs: Sequence[Program]) -> int:
    """The line of `at` in the text that `plan` was read from; the first where no line says it.

    lines: for each kind of thing outside of families, the lines of each of them. programs: the family of each device.
    """
    number = at.number
    if at.kind == NODE:
        device = plan.segments[number].device
        first = next(k for k, segment in enumerate(plan.segments) if segment.device == device)
        before = sum(len(segment.nodes) for segment in plan.segments[first:number])
        return programs[device].lines[NODE][before + at.place]
    if at.kind == CALL:
        return programs[number].lines[CALL][at.place]
    if at.kind in OF_FAMILIES:
        for program in programs:
            own = program.lines[at.kind]
            if number < len(own):
                return own[number]
            number -= len(own)
    known = lines.get(at.kind, ())
    return known[number] if number < len(known) else 1
