"""What the walk leaves open, decided between cut points: guess, prove each distinct island, refuse what has no proof.

By induction over the order in which a plan runs, a tensor holds what is guessed of it where its island is proved: what
the island reads holds what the walk says, which rests on stages and on islands before it.
"""

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from verdict.graph import Attrs, Plan
from verdict.graph.microbatches import walked_microbatches
from verdict.lineage import Binding, Lineages, Reference, Signature
from verdict.lineage.guessing import CutPoint, guessed_ends
from verdict.lineage.poles import absorbed_poles
from verdict.lineage.propagate import guessed
from verdict.lineage.reference import Bases
from verdict.options import Options
from verdict.outcome import Unknown
from verdict.residue.islands import Island, islands_of
from verdict.residue.pairs import Pair, pair_of
from verdict.stage import Stage, cut
from verdict.stage.stage import column_laws
from verdict.sweep import Swept, sweep
from verdict.workers import run_all

MOST_ROUNDS = 6
"""How often a plan is walked again without the guesses that have no proof: a few are of nodes of one name."""
SECONDS = 40.0
"""The most for one island: those of real programs take a few, ring attention on sixteen devices some fifteen."""
MOST_UNDECIDED = 2
"""How many distinct islands may take too long: with more of them the whole plan is swept sooner."""
MOST_OPERATIONS = 20_000_000
"""How many multiplications and additions the sides of an island may take on numbers: there are many islands."""

Progress = Callable[[int, int], None]
Unproved = Callable[[Sequence[Stage]], Set[Signature]]
"""Which nodes stages without a proof are of."""


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
    """A walk of one column to its end, with cut points that are proved; None where there is none.

    An island knows nothing of its inputs but that they are numbers: where the single-device plan divides by what may be
    zero, and makes numbers of that again, the whole is swept, on numbers that occur.
    """
    if absorbed_poles(table):
        return None
    (microbatch,) = walked_microbatches(plan, every=False)
    refused: set[tuple[int, int, Bases]] = set()
    closed: set[Signature] = set()
    known: dict[Pair, Swept | Unknown] = {}
    attrs: dict[str, Attrs] = {}
    for _ in range(MOST_ROUNDS):
        walk = guessed_ends(
            guessed(table, plan, binding, frozenset(refused), frozenset(closed), microbatch), plan, binding
        )
        fresh = unproved(cut((walk,)).questions) - closed
        if fresh:
            closed |= fresh
            continue
        islands, lost = islands_of(walk, plan, microbatch)
        pairs = [pair_of(island, table, plan, attrs) for island in islands]
        asked = tuple(dict.fromkeys(stage for pair in pairs if pair is not None for stage in _questions(pair, plan)))
        open_ = unproved(asked)
        apart = {pair for pair in pairs if pair is None or any(nodes.signature in open_ for nodes in pair.nodes)}
        new = dict.fromkeys(pair for pair in pairs if pair is not None and pair not in known and pair not in apart)
        _sweep(list(new), known, options, progress)
        found = [known.get(pair) if pair is not None and pair not in apart else None for pair in pairs]
        wrong = {
            k: one for k, (island, one) in enumerate(zip(islands, found, strict=True)) if not _is_proved(one, island)
        }
        if not wrong and not lost:
            each = tuple(one for pair in dict.fromkeys(pairs) if pair and isinstance(one := known[pair], Swept))
            return Decided(walk, tuple(islands), each)
        if sum(isinstance(one, Unknown) for one in known.values()) > MOST_UNDECIDED:
            return None
        doubtful = [*lost, *(point for k, one in wrong.items() for point in _doubtful(one, islands[k]))]
        ends = {(end.held.device, end.held.tensor) for end in walk.ends}
        fresh_refused = {(*point, tuple(s.base for s in walk.cuts[point])) for point in doubtful if point not in ends}
        if fresh_refused <= refused:
            return None
        refused |= fresh_refused
    return None


def _sweep(pairs: list[Pair], known: dict[Pair, Swept | Unknown], options: Options, progress: Progress) -> None:
    """Note what the sweep says of pairs of plans."""
    alone = replace(options, workers=0)
    found = run_all(
        pairs,
        lambda pair: replace(sweep(pair.single, pair.parallel, alone, most_operations=MOST_OPERATIONS), runs=None),
        options.workers,
        SECONDS,
        options.memory_mib,
        lambda done: progress(done, len(pairs)),
    )
    known.update(zip(pairs, found, strict=True))


def _questions(pair: Pair, plan: Plan) -> Iterator[Stage]:
    """What must hold of the single-device nodes of a pair on one column."""
    for nodes in pair.nodes:
        yield nodes
        yield from column_laws(nodes.signature, plan.columns)


def _doubtful(swept: Swept | Unknown | None, island: Island) -> list[CutPoint]:
    """The guesses of an island that are wrong, or all where it is not known which are."""
    points = list(island.due)
    different = swept.different if isinstance(swept, Swept) else ()
    return [points[place] for one in different for place in one.result.declared] or points


def _is_proved(swept: Swept | Unknown | None, island: Island) -> bool:
    if (
        swept is None
        or isinstance(swept, Unknown)
        or swept.is_refuted
        or swept.open
        or swept.unusual
        or swept.fault is not None
    ):
        return False
    return swept.established == frozenset(range(len(island.due)))
