"""Both plans, or one column of them, run on random numbers from end to end."""

from verdict.concrete import (
    AGREE,
    DIFFER,
    Comparison,
    Faulty,
    Prepared,
    compare_prepared,
    has_sizes_in_constants,
    prepare,
    work_at,
    work_of,
)
from verdict.concrete.comparison import FULL_WORK
from verdict.counting import Progress, uncounted
from verdict.graph import ABSENT, BUFFER, INPUT, Node, Plan, without_effects
from verdict.inputs import USUAL, Scale, outside, unstated
from verdict.lineage.drawn import draws_again
from verdict.lineage.reference import reference
from verdict.ops import FACTS
from verdict.ops.shaken import MOST_SHAKEN, is_real
from verdict.semantics import full
from verdict.solver import InternalError
from verdict.sweep import steps_of

SEEDS = (1, 2)
"""The random values that the plans are run on; they must agree on all of these."""
MORE_SEEDS, FEW = range(3, 25), 2_000
"""Where all of these agree, and both plans read and write no more elements than so many, more are asked."""
SOME, OPEN = 200_000, 20_000_000
"""How many elements plans read and write at most that are run at the ends of their integers besides; and that are asked
many seeds where nothing is proved (some seconds): one row may tell, if it is looked up, or one integer.
"""
LOUD = (Scale(8), Scale(64), Scale(512), Scale(8, 8))
"""What is asked where plans agree on all seeds: some programs come to the bounds at which they are clipped only so,
behind norms only where their weights are greater.
"""
QUIET = Scale(1 / 64, 1 / 64)
"""What is asked besides: what is clipped from a bound on stays as it is where norms are small."""
ZEROS = (Scale(zeros=True), Scale(weights=0))
"""Where some rows, or all weights, are zero some programs divide by zero that others mask."""
ENDS = (Scale(end=-1), Scale(end=1))
"""Where masks cover all, some programs divide by the number of nothing, and make a number of what is infinite then."""
MOST_STEPS = 200_000
"""The most nodes of both plans to be run; of more, one microbatch of one replica is, where it speaks for the whole."""
MOST_WORK = 1_000_000_000
"""What is run: how many nodes, over all ranks and microbatches, and how many elements they read and write."""
MOST_FULL = 200_000_000
"""Up to so many elements, a difference at reduced shapes is looked for at full ones, too. Beyond, it refutes nothing by
itself: only where the walk finds a fault.
"""
MOST_CHECKED, MOST_CHECKED_STEPS = 20_000_000, 20_000
"""Up to so many elements and nodes, what is proved between cut points is run at its own shapes besides: some seconds.
"""

DIFFERENT = 2.5e-7
"""Of the greatest element, what is a difference for certain: constants in 32 bits are four times nearer."""
DISTINCT = 1e-3
"""Of the greatest element, what is a difference for certain on numbers that were multiplied."""
OF_SIZES = "they differ at reduced shapes, where constants do not stand for sizes, and full ones are too much"
"""What is said of large plans where one has constants that are made of sizes."""
AGREED = f"run on random numbers (seeds {' and '.join(map(str, SEEDS))}) the plans agree"


def run_on_numbers(
    single: Plan,
    parallel: Plan,
    full_work: int = FULL_WORK,
    progress: Progress = uncounted,
    scale: Scale = USUAL,
    few: int = FEW,
) -> Comparison | str:
    """What the first seed that shows a difference shows, else the last one; a sentence where it is too much.

    full_work: up to so many elements that all nodes read and write they are not reduced. progress: of runs. scale: of
    the numbers. few: of plans that read and write no more elements many seeds are asked.
    """
    steps = steps_of(single) + steps_of(parallel)
    if steps > MOST_STEPS:
        return f"to run both plans would take {steps:,} nodes, the limit is {MOST_STEPS:,}"
    if draws_again(reference(single, 1, {})):
        return "several of its nodes draw random numbers for one input, and would draw the same if they were run"
    prepared = prepare(single, parallel, MOST_WORK, full_work)
    if isinstance(prepared, Comparison):
        return prepared
    found = _compared(prepared, True, progress, scale, few)
    if found.outcome == AGREE and (ranges := unstated(single)):
        unusual = _compared(prepared, False, progress, scale, few)
        return f"the plans differ {outside(ranges)}" if unusual.outcome != AGREE else found
    return found


def unasked(single: Plan, parallel: Plan, ran: bool) -> tuple[Scale, ...]:
    """The numbers that may tell plans apart where nothing did: of large ones, of which rounding is not told, few.

    ran: whether they agree on few seeds.
    """
    work = work_at(without_effects(single)) + work_at(without_effects(parallel))
    loud = (*LOUD, QUIET) if work <= MOST_SHAKEN else LOUD[:1]
    odd = () if work > MOST_SHAKEN or any(map(_chooses, (single, parallel))) else (*ZEROS, *_ends(single, parallel))
    return (*(() if ran and work > OPEN else (USUAL,)), *loud, *odd)


def at_ends(single: Plan, parallel: Plan) -> tuple[Scale, ...]:
    """The numbers at which integers are the least, or the greatest, that they may be: of plans that are given such, and
    read and write no more elements than SOME.
    """
    ends = _ends(single, parallel)
    if not ends or work_at(without_effects(single)) + work_at(without_effects(parallel)) > SOME:
        return ()
    return () if any(map(_chooses, (single, parallel))) else ends


def _ends(single: Plan, parallel: Plan) -> tuple[Scale, ...]:
    """The same of plans of few nodes, whatever these are, and of however many elements."""
    if all(is_real(logical.dtype) for logical in single.logicals if logical.kind in (INPUT, BUFFER)):
        return ()
    return ENDS if steps_of(single) + steps_of(parallel) <= MOST_CHECKED_STEPS else ()


def _chooses(plan: Plan) -> bool:
    """Whether a node chooses among real numbers, the greatest or a place in an order: of equal ones, any may be it."""
    types = [plan.logicals[tensor.logical].dtype for tensor in plan.tensors]

    def told(node: Node) -> bool:
        read, made = ([types[t] for t in tensors if t != ABSENT] for tensors in (node.inputs, node.outputs))
        return any(map(is_real, read)) and any(dtype.startswith(("int", "uint")) for dtype in made)

    return any(FACTS.extreme(node.op) or told(node) for segment in plan.segments for node in segment.nodes)


def at_full_shapes(
    single: Plan, parallel: Plan, found: Comparison, scale: Scale = USUAL, few: int = FEW
) -> Comparison | str:
    """What a run at full shapes says where reduced ones differ, as far as it is not too much; else one at which axes
    have the sizes in constants, or OF_SIZES where that is too much, too. few: of `run_on_numbers`.

    A mean over tokens is one over fewer of them at reduced shapes, where a constant that stands for their number stays.
    """
    if not is_reduced(found):
        return found
    if work_at(without_effects(single)) + work_at(without_effects(parallel)) <= MOST_FULL:
        return run_on_numbers(single, parallel, MOST_FULL, scale=scale, few=few)
    if not has_sizes_in_constants(single, parallel):
        return found
    prepared = prepare(single, parallel, MOST_WORK, FULL_WORK, sized=True)
    return OF_SIZES if isinstance(prepared, Comparison) else _compared(prepared, True, uncounted, scale, few)


def difference_at_own_shapes(single: Plan, parallel: Plan) -> Comparison | None:
    """A run at the plans' own shapes in which they differ; None where they do not, or that is too much to be run."""
    if steps_of(single) + steps_of(parallel) > MOST_CHECKED_STEPS:
        return None
    try:
        if work_of(single, full(single)) + work_of(parallel, full(parallel)) > MOST_CHECKED:
            return None
    except Faulty:
        return None
    found = run_on_numbers(single, parallel, MOST_CHECKED)
    return None if isinstance(found, str) or found.outcome != DIFFER or is_reduced(found) else found


def is_borne_out(single: Plan, parallel: Plan, how: str) -> bool:
    """Whether a run of plans that are proved equal, where it is not too much, bears that out: they may differ slightly.

    how: by what they are proved equal. Raises InternalError where they differ for certain.
    """
    differing = difference_at_own_shapes(single, parallel)
    if differing is None or is_slight(differing):
        return differing is None
    problem = f"{how} they are proved equal, run on random numbers from end to end they differ"
    raise InternalError(f"{problem}: {single.source}, {parallel.source}")


def is_slight(found: Comparison) -> bool:
    """Whether plans that were run differ, and nowhere for certain: what is no number at one of them is certain."""
    return found.outcome == DIFFER and all(row.error <= DIFFERENT * row.size for row in found.differing)


def is_reduced(found: Comparison) -> bool:
    """Whether plans were run at other shapes than their own."""
    return any(own != run for _, own, run in found.shapes)


def _compared(prepared: Prepared, usual: bool, progress: Progress, scale: Scale, few: int) -> Comparison:
    plans = (prepared.single, prepared.parallel)
    work = sum(work_of(plan, small) for plan, small in zip(plans, prepared.small, strict=True))
    seeds = (*SEEDS, *(MORE_SEEDS if work <= few else ())) if scale == USUAL else SEEDS[:1]
    progress(0, len(seeds), "runs")
    for number, seed in enumerate(seeds, 1):
        found = compare_prepared(prepared, seed, usual=usual, scale=scale)
        progress(number, len(seeds), "runs")
        if found.outcome != AGREE:
            break
    return found
