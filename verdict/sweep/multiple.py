"""Multiples of single-device elements: what every rank has where each scales its own share of the loss.

A rank that takes the mean over its own rows has gradients that are a whole number of times the single-device ones,
until they are averaged. So that these are known, too, the single-device flow is given further steps, each a constant
times what it has.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from verdict.graph import ABSENT, ONCE_A_STEP, Plan
from verdict.sweep.elements import Block, Elements, Ids, Kind
from verdict.sweep.flow import TIMES, Place, Step
from verdict.sweep.trace import Trace, above

MOST_FACTOR = 64
"""The greatest factor that is looked for; values that are scaled by a greater one are not known as multiples."""
SCALE = "other"
"""The attribute of recorded operators that holds the number by which they multiply or divide."""


def factors_of(plan: Plan) -> tuple[Fraction, ...]:
    """By what values may be scaled: numbers of ranks and microbatches, what divides them, and the whole numbers by
    which the plan itself multiplies or divides (those of its microbatches, say); and one over each of those.
    """
    size = plan.ranks * plan.microbatches
    whole = {n for n in range(2, min(size, MOST_FACTOR) + 1) if size % n == 0}
    written = {
        round(value if value > 1 else 1 / value)
        for segment in plan.segments
        for node in segment.nodes
        for name, value in node.attrs
        if name == SCALE and isinstance(value, int | float) and 1 / MOST_FACTOR <= value <= MOST_FACTOR
    }
    found = sorted({*whole, *(n for own in written for n in (own, own * size) if 1 < n <= MOST_FACTOR)})
    return tuple(factor for n in found for factor in (Fraction(n), Fraction(1, n)))


def multiple(trace: Trace, elements: Elements, ids: Ids, factor: Fraction) -> Ids:
    """The elements of a further single-device step, `factor` times some elements; those of the step that makes them
    already, if one does: what was refused of them is known by their numbers.
    """
    number = len(trace.flow.steps)
    for known in reversed(range(number)):
        if trace.flow.steps[known].op != TIMES:
            break
        (made,), (base,) = trace.made[known], trace.reads[known]
        if made is not None and trace.flow.steps[known].attrs["factor"] == factor and np.array_equal(base, ids):
            return made
    at = Place(0, ONCE_A_STEP, f"{factor} times {_name(trace, elements, ids)}")
    step = Step(TIMES, (), (ABSENT,), {"factor": factor}, 0, at)
    trace.flow = replace(trace.flow, steps=(*trace.flow.steps, step))
    made = elements.block(Kind.SINGLE, number, 0, ids.shape)
    trace.reads.append((ids,))
    trace.made.append((made,))
    trace.above.append(above(trace, (ids,), elements))
    return made


def unscaled(trace: Trace, elements: Elements, ids: Ids) -> tuple[Ids, Fraction] | None:
    """Of which elements some are a multiple, and by which factor; None where they are none, or several."""
    blocks = elements.blocks_of(ids)
    factors = {_factor(trace, block) for block in blocks}
    factor = factors.pop() if len(factors) == 1 else None
    if factor is None:
        return None
    found = np.empty_like(ids)
    for block in blocks:
        base = trace.reads[block.owner][0].ravel()
        within = (ids >= block.start) & (ids < block.start + base.size)
        found[within] = base[ids[within] - block.start]
    return found, factor


def _factor(trace: Trace, block: Block) -> Fraction | None:
    step = trace.flow.steps[block.owner] if block.kind is Kind.SINGLE else None
    return Fraction(step.attrs["factor"]) if step is not None and step.op == TIMES else None


def _name(trace: Trace, elements: Elements, ids: Ids) -> str:
    blocks: Sequence[int] = [block.owner for block in elements.blocks_of(ids) if block.kind is Kind.SINGLE]
    return trace.flow.steps[blocks[0]].place.name if blocks else "what is given"
