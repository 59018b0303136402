"""The sweep: two plans of any structure, compared from their inputs to their outputs.

Both are unrolled to all ranks and microbatches and run on floats on several seeds. What the parallel plan computes
and what equals single-device elements there is claimed to be those. Each distinct claim is proved on solver terms;
what has no proof stays an expression of its own, and the cones of later claims reach through it. At the end every
declared output must consist of the very elements that it should. A guess that is wrong costs its proof, no more.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from verdict.comparison import Fault, Faulty
from verdict.concrete.bind import Binding, bind, itself
from verdict.concrete.domains import domains
from verdict.concrete.shrink import Reduced, shrink
from verdict.concrete.small import full
from verdict.graph import Plan
from verdict.ops import Array
from verdict.options import Options
from verdict.outcome import Answer
from verdict.solver import InternalError
from verdict.sweep.compare import Different, compare
from verdict.sweep.decide import Decided, decide
from verdict.sweep.declared import undeclared
from verdict.sweep.draws import drawn_twice
from verdict.sweep.elements import Elements, Ids, Kind
from verdict.sweep.ends import ends_of
from verdict.sweep.flow import CANNOT, Flow
from verdict.sweep.follow import Follower, follow_single
from verdict.sweep.larger import flows_of, numbers_for, on_numbers
from verdict.sweep.match import Catalogue, Known
from verdict.sweep.multiple import factors_of
from verdict.sweep.parallel import Guesses, first_of, follow_parallel
from verdict.sweep.trace import Keys, Traces
from verdict.sweep.unroll import MOST_STEPS, steps_of
from verdict.sweep.values import SEEDS, run

MOST_FULL = 60_000
"""Up to so many elements that the single-device plan is given, plans are swept at their own shapes."""
MOST_ROUNDS = 16
"""How often the parallel plan is followed again without the guesses that have no proof."""

OWN, SMALLEST, TWO_SHAPES = "the plans' own shapes", "reduced shapes", "two reduced shapes"
OTHER = 1
"""How many elements more than at the smallest shapes axes keep at the second ones: their sizes have no common part."""

ALONE = "the single-device plan declares no such output (nothing to compare it with)"

Progress = Callable[[int, int], None]
Values = list[list[Array | None]]
"""For each seed, the array of each value of a flow."""


@dataclass(frozen=True, slots=True)
class Runs:
    """Both plans as they were run, single and parallel, their flows, what they are given on each seed, all values."""

    plans: tuple[Plan, Plan]
    flows: tuple[Flow, Flow]
    given: tuple[Mapping[int, Array], ...]
    values: tuple[Values, Values]


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found.

    compared: how many declared outputs of the parallel plan were compared. different: those that are not equal,
    missing: those that nobody holds. open: what is undecided, and why. fault: what keeps the plans from being run.
    runs: both plans on numbers, where outputs differ.
    steps: of the parallel flow. claims, distinct: how many were made, and of what was asked how many were proved.
    methods: scalar equalities of the distinct claims, by what closed them.
    shapes: at which shapes, in words; larger: at which ones both plans were run on numbers as well, "" where at none.
    answers: of the solvers, asked anew of the distinct claims as plain arithmetic.
    established: the places in `Plan.declared` of the outputs that are proved, on every rank.
    """

    compared: int = 0
    different: tuple[Different, ...] = ()
    missing: tuple[str, ...] = ()
    open: tuple[tuple[str, str], ...] = ()
    fault: Fault | None = None
    runs: Runs | None = None
    steps: int = 0
    claims: int = 0
    distinct: int = 0
    methods: tuple[tuple[str, int], ...] = ()
    shapes: str = OWN
    larger: str = ""
    established: frozenset[int] = frozenset()
    answers: tuple[Answer, ...] = ()

    @property
    def is_refuted(self) -> bool:
        """Whether outputs differ, or are held by nobody."""
        return bool(self.different or self.missing)


def sweep(single: Plan, parallel: Plan, options: Options, progress: Progress = lambda done, total: None) -> Swept:
    """Compare two plans of any structure. What keeps them from being compared is in the result.

    Small plans are compared at their own shapes. Others at two reduced ones, and on numbers at full shapes, or at
    larger ones than those. Raises InternalError where these contradict each other.
    """
    try:
        if max(steps_of(single), steps_of(parallel)) > MOST_STEPS:
            problem = f"all ranks run {steps_of(parallel):,} nodes, the limit is {MOST_STEPS:,}"
            raise Faulty(Fault(problem, parallel.source, ours=True))
        binding = bind(single, parallel)
        own = Reduced(single, parallel, binding, (full(single), full(parallel)))
        given = sum(int(np.prod(own.small[0].logicals[k], dtype=np.int64)) for k in itself(single).logical)
        if given <= MOST_FULL:
            return _swept(own, options, progress)
        return _at_two_shapes(single, parallel, binding, options, progress)
    except Faulty as error:
        return Swept(fault=error.fault)


def _at_two_shapes(single: Plan, parallel: Plan, binding: Binding, options: Options, progress: Progress) -> Swept:
    """What is found at the smallest shapes, if it is found at others, and numbers do not speak against it."""
    smallest = shrink(single, parallel, binding)
    larger = on_numbers(single, parallel, binding, smallest)
    found = replace(_swept(smallest, options, progress), shapes=SMALLEST, larger=larger.at)
    if not found.is_refuted and (larger.differs or not found.open):
        other = shrink(single, parallel, binding, OTHER)
        if other.small[0].logicals != smallest.small[0].logicals:
            second = _swept(other, options, progress)
            established, open_ = found.established & second.established, (*found.open, *second.open)
            found = replace(second, shapes=TWO_SHAPES, larger=larger.at, established=established, open=open_)
    if larger.at and found.is_refuted != larger.differs:
        if found.open and larger.differs:
            return replace(found, different=larger.different, missing=larger.missing, open=())
        said, shown = ("they differ", "they agree") if found.is_refuted else ("they are proved equal", "they differ")
        problem = f"at reduced shapes {said}, run on numbers at {larger.at} {shown}: {single.source}, {parallel.source}"
        raise InternalError(problem)
    return found


def _swept(reduced: Reduced, options: Options, progress: Progress) -> Swept:
    single, parallel, binding, small = reduced
    flows = flows_of(reduced)
    integers = domains(single, small[0])
    with _running(single):
        given, right = numbers_for(flows[0], reduced, [options.solver.seed + k for k in range(SEEDS)], None, integers)
    with _running(parallel):
        values = right, [run(flows[1], seed) for seed in given]
    compared = compare(flows[0], flows[1], values[0], values[1])
    missing = (*compared.missing, *undeclared(flows[0], parallel, small[1], binding.logical))
    if compared.different or missing:
        runs = Runs((single, parallel), flows, tuple(given), values)
        return Swept(compared.total, compared.different, missing, steps=len(flows[1].steps), runs=runs)
    drawn = (*drawn_twice(flows[0], values[0]), *drawn_twice(flows[1], values[1]))
    if drawn:
        return Swept(compared.total, open=drawn, steps=len(flows[1].steps))
    elements = Elements()
    follower = Follower(elements, Keys())
    ids = {k: elements.block(Kind.GIVEN, k, 0, array.shape) for k, array in given[0].items()}
    trace = follow_single(flows[0], ids, values[0], follower)
    guesses = Guesses(catalogue_of(flows[0], values[0], ids, given, trace.ids), trace, factors_of(parallel))
    known = Decided({})
    for _ in range(MOST_ROUNDS):
        other, claims = follow_parallel(flows[1], ids, values[1], trace, follower, guesses)
        traces = Traces(elements, trace, other, integers, follower.keys)
        ends = ends_of(traces)
        refused = decide(traces, [*claims, *ends.claims], known, options, progress)
        wrong = first_of(flows[1], [claim for claim, _ in refused if claim.step >= 0])
        if not wrong:
            break
        guesses.refused.update((claim.step, claim.output, claim.right.tobytes()) for claim in wrong)
    return Swept(
        compared=compared.total,
        open=(
            *((f"{result.what} {result.where}", ALONE) for result in compared.alone),
            *((ends.where(claim) if claim.step < 0 else "a step", why) for claim, why in refused),
        ),
        steps=len(flows[1].steps),
        claims=len(claims) + len(ends.claims),
        distinct=known.distinct,
        methods=known.methods,
        answers=known.answers,
        established=ends.established(claim for claim, _ in refused),
    )


@contextmanager
def _running(plan: Plan) -> Iterator[None]:
    try:
        yield
    except CANNOT as error:
        raise Faulty(Fault(f"it cannot be run on numbers: {error}", plan.source, ours=True)) from error


def catalogue_of(
    flow: Flow, values: Values, given: Mapping[int, Ids], seeds: Sequence[Mapping[int, Array]],
    ids: Sequence[Ids | None],
) -> Catalogue:  # fmt: skip
    """All that the single-device plan is given and computes."""
    known = [
        Known(own, tuple(np.asarray(seed[logical], dtype=np.float64) for seed in seeds))
        for logical, own in given.items()
    ]
    seen = set()
    for step in flow.steps:
        for value in step.outputs:
            own_ids = ids[value] if value >= 0 else None
            if own_ids is None or own_ids.tobytes() in seen:
                continue
            seen.add(own_ids.tobytes())
            arrays = [seed[value] for seed in values]
            known.append(Known(own_ids, tuple(np.asarray(array) for array in arrays if array is not None)))
    return Catalogue(known)
