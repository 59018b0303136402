"""What a sweep found, and what tells two plans apart on numbers before anything is proved."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from verdict.comparison import Fault, Faulty
from verdict.graph import Plan
from verdict.inputs import USUAL, Domain, Scale, domains
from verdict.ops import Array
from verdict.options import Options
from verdict.outcome import Answer
from verdict.reduction import Reduced, made_of
from verdict.semantics import bind, full
from verdict.sweep.compare import Different
from verdict.sweep.declared import undeclared
from verdict.sweep.flow import Flow
from verdict.sweep.own import is_computed
from verdict.sweep.plain import Plain, on_small_numbers
from verdict.sweep.results import Missing
from verdict.sweep.seen import Seen, certain, flows_of, seen, telling
from verdict.sweep.unroll import MOST_STEPS, steps_of
from verdict.sweep.values import SEEDS, Values

TURNS = 4
"""How often other seeds are drawn until some tell plans apart that are known to differ: about as many as showed it."""

OWN, SMALLEST, TWO_SHAPES = "the plans' own shapes", "reduced shapes", "two reduced shapes"


@dataclass(frozen=True, slots=True)
class Runs:
    """Both plans as they were run, single and parallel, their flows, what they are given on each seed, all values;
    plain: the same on small whole numbers, where they can be run on these.
    """

    plans: tuple[Plan, Plan]
    flows: tuple[Flow, Flow]
    given: tuple[Mapping[int, Array], ...]
    values: tuple[Values, Values]
    plain: Plain | None = None


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found.

    compared: how many declared outputs of the parallel plan were compared. different: those that are not equal,
    missing: those that nobody holds. unusual: whether some are not equal, but with integers only that nobody says
    occur. open: what is undecided, and why. fault: what keeps the plans from being run.
    runs: both plans on numbers, where outputs differ.
    steps: of the parallel flow. claims, distinct: how many were made, and of what was asked how many were proved.
    methods: scalar equalities of the distinct claims, by what closed them.
    shapes: at which shapes, in words; larger: at which ones both plans were run on numbers as well, "" where at none.
    answers: of the solvers, asked anew of the distinct claims as plain arithmetic.
    established: the places in `Plan.declared` of the outputs that are proved, on every rank.
    constants: those that shrank as the sizes in them (verdict/reduction/sized.py).
    """

    compared: int = 0
    different: tuple[Different, ...] = ()
    missing: tuple[Missing, ...] = ()
    unusual: bool = False
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
    constants: Mapping[float, int] = field(default_factory=dict)

    @property
    def sized(self) -> str:
        """The constants that shrank, in words."""
        return made_of(self.constants)

    @property
    def is_refuted(self) -> bool:
        """Whether outputs differ, or are held by nobody."""
        return bool(self.different or self.missing)


def told_apart(
    reduced: Reduced, flows: tuple[Flow, Flow], integers: Mapping[int, Domain], seed: int, scale: Scale = USUAL
) -> tuple[Seen, Swept | None]:
    """Both plans as they are run on several seeds, from `seed` on, and what is found where their outputs differ, or are
    not declared; None where nothing tells them apart. scale: see `seen`.
    """
    seeds = range(seed, seed + SEEDS)
    both = certain(flows, seen(flows, reduced, seeds, integers, scale=scale), (reduced.single, reduced.parallel))
    compared = both.compared
    missing = (*compared.missing, *undeclared(flows[0], reduced.parallel, reduced.small[1], reduced.binding.logical))
    if not compared.different and not missing:
        return both, None
    told = telling(flows, reduced, both, seeds, integers, scale)
    plans = reduced.single, reduced.parallel
    runs = Runs(plans, flows, told.given, told.values, on_small_numbers(flows, told.given[0]))
    return both, Swept(compared.total, compared.different, missing, steps=len(flows[1].steps), runs=runs)


def apart_on_numbers(single: Plan, parallel: Plan, options: Options, scale: Scale) -> Swept | None:
    """What tells plans apart that are small enough for their own shapes, run on numbers of some `scale`; None where
    nothing does.
    """
    try:
        if max(steps_of(single), steps_of(parallel)) > MOST_STEPS:
            return None
        own = Reduced(single, parallel, bind(single, parallel), (full(single), full(parallel)))
        if not is_computed(own):
            return None
        flows, integers = flows_of(own), domains(single, own.small[0])
        turns = range(options.solver.seed, options.solver.seed + TURNS * SEEDS, SEEDS)
        found = (told_apart(own, flows, integers, seed, scale)[1] for seed in turns)
        return next((swept for swept in found if swept is not None), None)
    except Faulty:
        return None
