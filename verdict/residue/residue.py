"""What the walk leaves open, decided between cut points: guess, prove each distinct island, refuse what has no proof.

By induction over the order in which a plan runs, a tensor holds what is guessed of it where its island is proved: what
the island reads holds what the walk says, which rests on stages and on islands before it.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass, replace

from verdict.graph import Attrs, Plan
from verdict.lineage import Binding, Lineages, Reference, Signature
from verdict.lineage.guessing import guessed_ends
from verdict.lineage.propagate import guessed
from verdict.lineage.reference import Bases
from verdict.options import Options
from verdict.outcome import Unknown
from verdict.residue.islands import Island, islands_of
from verdict.residue.pairs import Pair, pair_of
from verdict.sweep import Swept, sweep
from verdict.workers import run_all

MOST_ROUNDS = 8
"""How often a plan is walked again without the guesses that have no proof: a few are of nodes of one name."""
SECONDS = 60.0
"""The most for one island: those of real programs take some seconds."""
MOST_OPERATIONS = 20_000_000
"""How many multiplications and additions the sides of an island may take on numbers: there are many islands."""

Progress = Callable[[int, int], None]
Unproved = Callable[[Lineages], Set[Signature]]
"""Which nodes of a walk have stages without a proof."""


@dataclass(frozen=True, slots=True)
class Decided:
    """walk: one whose cut points are all proved. islands: what lies between them. swept: what was found of each
    distinct one.
    """

    walk: Lineages
    islands: tuple[Island, ...]
    swept: tuple[Swept, ...]


def decide(
    table: Reference, plan: Plan, binding: Binding, options: Options, unproved: Unproved, progress: Progress
) -> Decided | None:
    """A walk of a plan of one column to its end, with cut points that are proved; None where there is none."""
    refused: set[tuple[int, int, Bases]] = set()
    closed: set[Signature] = set()
    known: dict[Pair, Swept | Unknown] = {}
    attrs: dict[Attrs, Attrs] = {}
    for _ in range(MOST_ROUNDS):
        walk = guessed_ends(guessed(table, plan, binding, frozenset(refused), frozenset(closed)), plan, binding)
        fresh = unproved(walk) - closed
        if fresh:
            closed |= fresh
            continue
        islands, lost = islands_of(walk, plan)
        pairs = [pair_of(island, table, plan, attrs) for island in islands]
        _sweep(list(dict.fromkeys(pair for pair in pairs if pair not in known)), known, options, progress)
        wrong = [island for island, pair in zip(islands, pairs, strict=True) if not _is_proved(known[pair], island)]
        if not wrong and not lost:
            found = tuple(one for pair in dict.fromkeys(pairs) if isinstance(one := known[pair], Swept))
            return Decided(walk, tuple(islands), found)
        if any(not _guesses(island, walk) for island in wrong):
            return None
        for cut in (*lost, *(cut for island in wrong for cut in island.due)):
            refused.add((*cut, tuple(share.base for share in walk.cuts[cut])))
    return None


def _guesses(island: Island, walk: Lineages) -> bool:
    """Whether an island is about anything but what must hold at the end: else there is nothing else to guess."""
    ends = {(end.held.device, end.held.tensor) for end in walk.ends}
    return any(cut not in ends for cut in island.due)


def _sweep(pairs: list[Pair], known: dict[Pair, Swept | Unknown], options: Options, progress: Progress) -> None:
    """Note what the sweep says of pairs of plans."""
    alone = replace(options, workers=0)
    found = run_all(
        pairs,
        lambda pair: replace(sweep(*pair, alone, most_operations=MOST_OPERATIONS), runs=None),
        options.workers,
        SECONDS,
        options.memory_mib,
        lambda done: progress(done, len(pairs)),
    )
    known.update(zip(pairs, found, strict=True))


def _is_proved(swept: Swept | Unknown, island: Island) -> bool:
    if isinstance(swept, Unknown) or swept.is_refuted or swept.open or swept.unusual or swept.fault is not None:
        return False
    return swept.established == frozenset(range(len(island.due)))
