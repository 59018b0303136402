"""The sweep: two plans of any structure, compared from their inputs to their outputs.

Both are unrolled to all ranks and microbatches and run on floats on several seeds. What the parallel plan computes
and what equals single-device elements there is claimed to be those. Each distinct claim is proved on solver terms;
what has no proof stays an expression of its own, and the cones of later claims reach through it. At the end every
declared output must consist of the very elements that it should. A guess that is wrong costs its proof, no more.
"""

from collections.abc import Mapping
from dataclasses import replace

from verdict.comparison import Fault, Faulty
from verdict.counting import Progress, uncounted
from verdict.graph import Plan
from verdict.inputs import USUAL, Domain, domains, outside, unstated
from verdict.options import Options
from verdict.reduction import Reduced, made_of, shrink, shrunk_with_constants, sizes_in_constants
from verdict.semantics import Binding, bind, full
from verdict.solver import InternalError, Proofs
from verdict.sweep.chance import can_hide
from verdict.sweep.decide import Decided, decide
from verdict.sweep.draws import drawn_twice
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.ends import doubtful_ends, ends_of, stated
from verdict.sweep.fading import fading
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.guesses import Guesses
from verdict.sweep.larger import MOST_OPERATIONS, Larger, on_numbers
from verdict.sweep.match import catalogue_of
from verdict.sweep.merge import merged, repeats, without
from verdict.sweep.multiple import factors_of
from verdict.sweep.once import once
from verdict.sweep.own import fits, is_long, is_much
from verdict.sweep.parallel import Before, first_of, follow_parallel
from verdict.sweep.seen import Seen, flows_of, in_pieces
from verdict.sweep.swept import SMALLEST, TWO_SHAPES, Swept, apart_on_numbers, told_apart
from verdict.sweep.temper import tempered
from verdict.sweep.trace import Keys, Trace, Traces
from verdict.sweep.unroll import MOST_STEPS, elements_of, steps_of

MOST_MADE = 20_000_000
"""The most elements that both plans make at the shapes at which they are swept: each takes up to a KiB."""
MOST_UNEVEN = 500_000_000
"""How many operations on numbers both plans may take at full shapes, at least, where parts of an axis shrank unlike
each other: what such shapes do not show, other ones of the kind may not show either. A second or two.
"""
MOST_ROUNDS = 16
"""How often the parallel plan is followed again without the guesses that have no proof."""

MOST_MERGING = 8
"""How often the cone of a claim grows that two elements of the single-device plan are equal."""

OTHER = 1
"""How many elements more than at the smallest shapes axes keep at the second ones: their sizes have no common part."""

UNASKED = "numbers do not tell the plans apart, and nothing more was asked"

UNSIZED = "outputs differ at reduced shapes, where constants are not made of sizes"
ALONE = "the single-device plan declares no such output (nothing to compare it with)"


def sweep(
    single: Plan, parallel: Plan, options: Options, progress: Progress = uncounted,
    most_operations: int = MOST_OPERATIONS, proofs: Proofs | None = None, most_full: int | None = None,
    proves: bool = True,
) -> Swept:  # fmt: skip
    """Compare two plans of any structure. What keeps them from being compared is in the result.

    proofs: what was proved of other plans in this process. proves: whether anything is proved of plans that numbers do
    not tell apart.

    Small plans are compared at their own shapes. Others at two reduced ones, and on numbers at full shapes, or at
    larger ones than those, with at most so many operations. Raises InternalError where these contradict each other.
    most_full: up to so many elements that the single-device plan is given, plans are small, where another number is
    meant than for whole plans.
    """
    proofs = proofs or Proofs()
    try:
        if max(steps_of(single), steps_of(parallel)) > MOST_STEPS:
            problem = f"all ranks run {steps_of(parallel):,} nodes, the limit is {MOST_STEPS:,}"
            raise Faulty(Fault(problem, parallel.source, ours=True))
        binding = bind(single, parallel)
        own = Reduced(single, parallel, binding, (full(single), full(parallel)))
        small, smallest = fits(own, most_full), None
        if not small or (is_long(own) and not options.exhaustive):
            smallest = _smallest(single, parallel, binding, not small and is_much(own))
        _require_few(smallest or own)
        if smallest is None:
            found = _swept(own, options, proofs, progress, proves)
        else:
            most = max(most_operations, MOST_UNEVEN) if smallest.uneven else most_operations
            larger = on_numbers(single, parallel, binding, smallest, most)
            found = _reduced(own, smallest, larger, options, proofs, progress, small, proves)
    except Faulty as error:
        return Swept(fault=error.fault)
    if not found.unusual:
        return found
    why = f"outputs differ {outside(unstated(single))}"
    return replace(found, open=((single.source, why), *found.open), larger="")


def _reduced(
    own: Reduced, smallest: Reduced, larger: Larger, options: Options, proofs: Proofs, progress: Progress, small: bool,
    proves: bool,
) -> Swept:  # fmt: skip
    """What is found at reduced shapes; where that leaves something open and own shapes are `small`, at these."""
    plans = own.single, own.parallel, own.binding
    try:
        found = _at_two_shapes(*plans, smallest, larger, options, proofs, progress, proves)
    except Faulty:
        if not small:
            raise
        return _swept(own, options, proofs, progress, proves)
    is_left = not found.is_refuted and bool(found.open or found.unusual)
    return _swept(own, options, proofs, progress, proves) if small and is_left else found


def _smallest(single: Plan, parallel: Plan, binding: Binding, needed: bool) -> Reduced | None:
    """Both plans at the smallest shapes; None where they cannot be reduced, and need not be."""
    try:
        return shrink(single, parallel, binding)
    except Faulty:
        if needed:
            raise
        return None


def _require_few(reduced: Reduced) -> None:
    """Raises Faulty where more elements are made at reduced shapes than can be followed."""
    plans = (reduced.single, reduced.parallel)
    made = sum(elements_of(plan, small) for plan, small in zip(plans, reduced.small, strict=True))
    if made > MOST_MADE:
        problem = f"at the smallest shapes all ranks make {made:,} elements, the limit is {MOST_MADE:,}"
        raise Faulty(Fault(problem, reduced.parallel.source, ours=True))


def _at_two_shapes(
    single: Plan, parallel: Plan, binding: Binding, smallest: Reduced, larger: Larger, options: Options,
    proofs: Proofs, progress: Progress, proves: bool,
) -> Swept:  # fmt: skip
    """What is found at the smallest shapes, if it is found at others, and numbers do not speak against it.

    Only what is one formula is proved: a long sum reaches beyond the bounds of a short one. Nothing is where numbers
    tell the plans apart at larger shapes.
    """
    if larger.different and not larger.missing and larger.unsized:
        return Swept(larger.compared[0].total, open=((parallel.source, f"{UNSIZED}: {made_of(larger.unsized)}"),))
    if larger.differs:
        steps, total = steps_of(parallel), larger.compared[0].total
        found = Swept(total, larger.different, larger.missing, steps=steps, shapes=SMALLEST, larger=larger.at)
        shown = _apart(single, parallel, binding, smallest, larger, options) if options.solver.exhibit else None
        return shown or found
    options = replace(options, solver=replace(options.solver, bounds=False))
    found = replace(_swept(smallest, options, proofs, progress, proves), shapes=SMALLEST, larger=larger.at)
    constants = sizes_in_constants(single, parallel) if found.is_refuted else {}
    sized = larger.at and constants and not larger.unsized
    pair = shrunk_with_constants(single, parallel, binding, constants, (0, OTHER)) if sized else ()
    again = _swept(pair[0], options, proofs, progress, proves) if pair else found
    if not again.is_refuted and pair:
        found = replace(again, shapes=SMALLEST, larger=larger.at, constants=constants)
    if not found.is_refuted and not (found.open or found.unusual):
        other = pair[1] if found.constants else shrink(single, parallel, binding, OTHER)
        if other.small[0].logicals != smallest.small[0].logicals:
            second = _swept(other, options, proofs, progress, proves)
            established, open_ = found.established & second.established, (*found.open, *second.open)
            unusual = found.unusual or second.unusual
            second = replace(second, shapes=TWO_SHAPES, larger=larger.at, constants=found.constants)
            found = replace(second, established=established, open=open_, unusual=unusual and not second.is_refuted)
    if found.different and not found.missing and constants:
        told = (parallel.source, f"{UNSIZED}: {made_of(constants)}")
        return replace(found, different=(), runs=None, open=(told, *found.open))
    return _held_against(found, larger, single, parallel) if larger.at else found


def _apart(
    single: Plan, parallel: Plan, binding: Binding, smallest: Reduced, larger: Larger, options: Options
) -> Swept | None:
    """What tells plans apart that differ on numbers at larger shapes, with what both compute there: at the smallest
    ones where they differ at these, too, so that causes are soon looked for.
    """
    for reduced in (smallest, shrink(single, parallel, binding, OTHER)):
        flows, integers = flows_of(reduced), domains(reduced.single, reduced.small[0])
        found = told_apart(reduced, flows, integers, options.solver.seed)[1]
        if found is not None:
            return replace(found, shapes=SMALLEST, larger=larger.at)
    return apart_on_numbers(single, parallel, options, USUAL)


def _held_against(found: Swept, larger: Larger, single: Plan, parallel: Plan) -> Swept:
    """What was found at reduced shapes, with what numbers say at larger ones that do not tell the plans apart."""
    if not (found.is_refuted or larger.unusual):
        return found
    if found.is_refuted:
        what = ", ".join(dict.fromkeys(item.result.what for item in found.different))
        why = f"{what} differs on random numbers at reduced shapes, not on those at {larger.at}, as chance may have it"
        if not found.missing and can_hide(found.different, single, parallel):
            told = ((parallel.source, why), *found.open)
            return replace(found, different=(), runs=None, unusual=larger.unusual, open=told)
    elif found.open or found.unusual:
        return replace(found, unusual=True)
    said, shown = ("they differ", "they agree") if found.is_refuted else ("they are proved equal", "they differ")
    problem = f"at reduced shapes {said}, run on numbers at {larger.at} {shown}: {single.source}, {parallel.source}"
    raise InternalError(problem)


def _swept(reduced: Reduced, options: Options, proofs: Proofs, progress: Progress, proves: bool) -> Swept:
    single, parallel, small = reduced.single, reduced.parallel, reduced.small
    flows = flows_of(reduced)
    integers = domains(single, small[0])
    both, apart = told_apart(reduced, flows, integers, options.solver.seed)
    if apart is not None:
        return apart
    values, compared = both.values, both.compared
    if both.unusual:
        return Swept(compared.total, unusual=True, steps=len(flows[1].steps))
    if not proves:
        return Swept(compared.total, open=((parallel.source, UNASKED),), steps=len(flows[1].steps))
    rests = fading(flows, values)
    if rests is not None:
        return Swept(compared.total, open=(rests,), steps=len(flows[1].steps))
    drawn = (*drawn_twice(flows[0], values[0]), *drawn_twice(flows[1], values[1]))
    if drawn:
        return Swept(compared.total, open=drawn, steps=len(flows[1].steps))
    flows, values = in_pieces(flows, both)
    (one, its), (other, their) = (once(*each) for each in zip(flows, values, strict=True))
    flows, values = (one, other), (its, their)
    elements = Elements()
    follower = Follower(elements, Keys(), integers)
    ids = {k: elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in both.given[0].items()}
    values = tempered(flows, values)
    trace = follow_single(flows[0], ids, values[0], follower, stated(flows[0], single))
    exact = doubtful_ends(flows, single)
    if exact:
        trace.absorbed = trace.failing
    known = Decided({}, proofs)
    if not options.exhaustive:
        same = both._replace(values=values)
        trace = _merged(trace, ids, same, follower, known, integers, options, progress)
    catalogue = catalogue_of(flows[0], values[0], ids, both.given, trace.ids)
    guesses, positive = Guesses(catalogue, trace, factors_of(parallel)), catalogue.positive()
    before: Before | None = None
    for _ in range(MOST_ROUNDS):
        followed = follow_parallel(flows[1], ids, values[1], trace, follower, guesses, progress, before)
        traces = Traces(elements, trace, followed.trace, integers, follower.keys, exact, positive)
        ends = ends_of(traces)
        refused = decide(traces, [*followed.fresh, *ends.claims], known, options, progress)
        open_ = [claim for claim, _ in refused if claim.step >= 0]
        wrong = first_of(flows[1], open_, followed.taken)
        if not wrong:
            break
        before = None if options.exhaustive else Before.of(followed, wrong, open_)
        guesses.refused.update((claim.step, claim.output, claim.right.tobytes()) for claim in wrong)
    return Swept(
        compared=compared.total,
        open=(
            *((f"{result.what} {result.where}", ALONE) for result in compared.alone),
            *((ends.where(claim) if claim.step < 0 else "a step", why) for claim, why in refused),
        ),
        steps=len(flows[1].steps),
        claims=len(followed.claims) + len(ends.claims),
        distinct=known.distinct,
        methods=known.methods,
        answers=known.answers,
        established=ends.established(claim for claim, _ in refused),
    )


def _merged(
    trace: Trace, given: Mapping[int, Ids], both: Seen, follower: Follower, known: Decided,
    integers: Mapping[int, Domain], options: Options, progress: Progress,
) -> Trace:  # fmt: skip
    """The single-device flow, in which elements that are proved equal are one."""
    values, elements = both.values[0], follower.elements
    catalogue = catalogue_of(trace.flow, values, given, both.given, trace.ids)
    repeated, positive = repeats(trace, values, catalogue, elements), catalogue.positive()
    while True:
        own, beside, claims = merged(trace, repeated, follower)
        traces = Traces(elements, own, beside, integers, follower.keys, positive=positive)
        refused = decide(traces, claims, known, options, progress, MOST_MERGING)
        if not refused:
            return own
        repeated = without(repeated, (claim for claim, _ in refused))
