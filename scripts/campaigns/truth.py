"""What is true of a pair of plans: torch's engine on several seeds and scales, and beside it the interpreter in tests/.

The interpreter gets the very numbers on which the engine saw a difference, or else those of the first seed: where the
two disagree, one of them is wrong. Plans beyond FULL_WORK elements of work are run at the smaller shapes that Verdict's
own reduction finds for them.
"""

from collections.abc import Sequence

import torch

from scripts.campaigns.lines import DISAGREE
from tests.interpreter import compare as interpreter
from tests.interpreter.text import read as read_anew
from verdict.backends.text import read, write
from verdict.backends.torch.oracle import FULL_WORK
from verdict.backends.torch.oracle.compare import Ready, compare_ready, ready, values_of, work_of
from verdict.comparison import AGREE, CANNOT, FAULT, Comparison, Faulty
from verdict.concrete.comparison import smaller
from verdict.graph import Plan
from verdict.mutate.judge import Oracle

SEEDS = (11, 12, 13)
MORE_SEEDS, FEW = range(101, 125), 2_000
"""Plans of so few elements of work are run on these, too: one number seldom lies between two constants."""
INTERPRETED = 2_000_000
"""Up to so many elements of work, the interpreter is asked, too."""


def truth(seeds: Sequence[int] = SEEDS, scales: Sequence[float] = (1.0,)) -> Oracle:
    """The oracle of the campaigns; every scale has numbers of its own."""
    draws = tuple((seed + place * len(seeds), scale) for place, scale in enumerate(scales) for seed in seeds)

    def said(single: Plan, parallel: Plan) -> tuple[str, str]:
        if work_of(single) + work_of(parallel) > FULL_WORK:
            try:
                single, parallel = smaller(single, parallel)
            except Faulty as error:
                return (CANNOT if error.fault.ours else FAULT), str(error.fault)
        more = tuple((seed, 1.0) for seed in MORE_SEEDS) if work_of(single) + work_of(parallel) <= FEW else ()
        return _said(write(single), write(parallel), (*draws, *more))

    return said


def _said(single: str, parallel: str, draws: Sequence[tuple[int, float]]) -> tuple[str, str]:
    plans = ready(read(single.encode(), "single"), read(parallel.encode(), "parallel"))
    if isinstance(plans, Comparison):
        return plans.outcome, _told(plans)
    drawn, found = draws[0], None
    for seed, scale in draws:
        found = compare_ready(plans, seed, scale)
        if found.outcome == CANNOT:
            return CANNOT, _told(found)
        if found.outcome != AGREE:
            drawn = seed, scale
            break
    assert found is not None
    if work_of(plans.single) + work_of(plans.parallel) > INTERPRETED:
        return found.outcome, _told(found)
    second, why = interpreted(single, parallel, plans, *drawn)
    if second != interpreter.CANNOT and (second == AGREE) != (found.outcome == AGREE):
        return DISAGREE, f"torch: {found.outcome} {_told(found)}; interpreter: {second} {why}; drawn {drawn}"
    return found.outcome, _told(found)


def interpreted(single: str, parallel: str, plans: Ready, seed: int, scale: float) -> tuple[str, str]:
    """What the interpreter says on the numbers that the engine drew."""
    whole = values_of(plans, seed, scale)
    keys = list(read_anew(single).tensors)
    return interpreter.compare(single, parallel, values={keys[index]: value for index, value in whole.items()})


def _told(found: Comparison) -> str:
    row = next(iter(found.differing), None)
    told = f"{row.what} {row.where}: error {row.error:.3g} of {row.size:.3g}" if row else ""
    return "; ".join(map(str, found.faults)) or told


def one_thread() -> None:
    """Campaigns run beside each other."""
    torch.set_num_threads(1)
