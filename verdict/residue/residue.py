"""What the walk leaves open, decided between cut points: guess, prove each distinct island, refuse what has no proof.

By induction over the order in which a plan runs, a tensor holds what is guessed of it where its island is proved: what
the island reads holds what the walk says, which rests on stages and on islands before it.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

from verdict.counting import Progress
from verdict.graph import Plan
from verdict.graph.microbatches import walked_microbatches
from verdict.lineage import Binding, Lineages, Reference, Signature
from verdict.lineage.grounds import NOTHING, CutPoint, Form, Grounds, Learned, grounds_of
from verdict.lineage.guessed_ends import guessed_ends
from verdict.lineage.poles import absorbs_poles
from verdict.lineage.propagate import guessed
from verdict.lineage.transfer import Member
from verdict.options import Options
from verdict.outcome import Unknown
from verdict.residue.islands import Column, Island, column_of, islands_of, uneven, widest
from verdict.residue.numbers import OnNumbers
from verdict.residue.pairs import MOST_FULL, Pair, Placed, pair_of, tile_of, ways
from verdict.residue.single import Source, source_of
from verdict.residue.thin import Thin
from verdict.residue.wrong import doubtful, earliest_of, first, in_turn, is_proved, resting_on, scaled
from verdict.solver import Proofs
from verdict.stage import Members, Stage, cut
from verdict.stage.stage import column_laws
from verdict.sweep import Swept, held, steps_of, sweep
from verdict.workers import run_all

MOST_ROUNDS = 12
"""How often a plan is walked again without the guesses that have no proof: a few are of nodes of one name."""
SECONDS = 40.0
"""The most for one island: those of real programs take a few, ring attention on sixteen devices some fifteen."""
MOST_UNDECIDED = 2
"""How many distinct islands may take too long: with more of them the whole plan is swept sooner."""
MOST_OF_ALL, MOST_STEPS = 0.5, 200
"""Where an island has more of all steps than that, and as many, cut points spare nothing: the whole plan is swept."""
WALKED = 0.05
"""What a step costs that is walked once more, of what it costs to be swept. Once as much is spent between cut points as
the whole plan has, that is swept.
"""
REFUTED = 0.5
"""What a step costs of an island that numbers refute, of what it costs to be swept: it is run, nothing is proved."""
EARLY, LONG = 1 / 16, 20_000
"""Of a plan of so many steps this part is looked at first: it has several of a hundred layers, and costs little."""
MOST_OPERATIONS = 20_000_000
"""How many multiplications and additions the sides of an island may take on numbers: there are many islands."""

Unproved = Callable[[Sequence[Stage]], Set[Signature]]
"""Which nodes stages without a proof are of."""


@dataclass(frozen=True, slots=True)
class Decided:
    """walk: one whose cut points are all proved. islands: what lies between them, and the pair of each. swept: what was
    found of each distinct one.
    """

    walk: Lineages
    islands: tuple[Island, ...]
    pairs: tuple[Pair, ...]
    swept: tuple[Swept, ...]


def decide(
    table: Reference, plan: Plan, binding: Binding, options: Options, unproved: Unproved, progress: Progress,
    others: Set[CutPoint] = frozenset(),
) -> Decided | None:  # fmt: skip
    """A walk of one column to its end, with cut points that are proved; None where there is none.

    An island knows of its inputs whether they are always numbers, and nothing else. Where the single-device plan
    divides by what may be zero, and makes numbers of what is infinite, the whole is swept, on numbers that occur. So it
    is where both plans differ on random numbers; on these, of small plans, guesses are tried before they are made.
    others: tensors of which no guess is made.
    """
    if absorbs_poles(table):
        return None
    (microbatch,) = walked_microbatches(plan, every=False)
    numbers = held(table.plan, plan, options.solver.seed)
    if numbers is not None and not numbers.agree:
        return None
    grounds = grounds_of(table, plan)
    if numbers is not None:
        grounds = replace(grounds, times=OnNumbers(table, numbers).times)
    column, source = column_of(plan, microbatch), source_of(table, plan)
    asked = _Asked(column, microbatch, grounds, source, binding, options, unproved, progress, {}, Proofs(), {})
    learned, behind = Learned(forms=_early(asked), others=others), frozenset[int]()
    most, spent = max(MOST_STEPS, steps_of(plan)), 0.0
    walk: Lineages | None = None
    for _ in range(MOST_ROUNDS):
        if spent > most:
            return None
        if walk is None:
            walk, learned = _walked(asked, learned)
        steps, every = widest(walk, column, grounds, behind)
        if steps > max(MOST_STEPS, MOST_OF_ALL * every):
            return None
        seen = _seen(asked, walk, behind)
        spent += WALKED * every + sum(_cost(pair, asked.known[pair]) for pair in seen.fresh)
        if not seen.wrong and not seen.lost:
            each = tuple(one for pair in dict.fromkeys(seen.every) if isinstance(one := asked.known[pair], Swept))
            return Decided(walk, seen.islands, seen.every, each)
        if sum(isinstance(one, Unknown) for one in asked.known.values()) > MOST_UNDECIDED:
            return None
        islands, wrong = seen.islands, seen.wrong
        further = {base for k in wrong for base in uneven(islands[k], table)} - behind
        earliest = earliest_of(seen.points, islands, column) if plan.columns == 1 else frozenset()
        ends = {(end.held.device, end.held.tensor) for end in walk.ends}
        times_of = dict(each for k, one in wrong.items() for each in scaled(one, islands[k], walk, earliest))
        factors = {guess: times for guess, times in times_of.items() if times and guess not in learned.factors}
        if further or factors:
            behind |= further
            if factors:
                refused = {guess for guess, times in times_of.items() if times is None and guess[:2] not in ends}
                guesses = learned.guesses | refused
                learned, walk = replace(learned, guesses=guesses, factors={**learned.factors, **factors}), None
            continue
        refused = {(*point, tuple(s.base for s in walk.cuts[point])) for point in seen.doubtful if point not in ends}
        if refused <= learned.guesses:
            return None
        learned, walk = replace(learned, guesses=learned.guesses | refused), None
    return None


class _Asked(NamedTuple):
    """What is asked in all rounds. known: what was found of each distinct island. proofs: those of their claims.
    thins: of each distinct large one the same at one index of some axes.
    """

    column: Column
    microbatch: int
    grounds: Grounds
    source: Source
    binding: Binding
    options: Options
    unproved: Unproved
    progress: Progress
    known: dict[Pair, Swept | Unknown]
    proofs: Proofs
    thins: dict[Pair, Thin | None]


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is seen of the cut points of a walk. every: the pairs of islands that have one. fresh: those that were swept
    now. wrong: by their places, islands that are not proved. points: the doubtful cut points of these. lost: cut points
    without an island.
    """

    islands: tuple[Island, ...]
    every: tuple[Pair, ...]
    fresh: tuple[Pair, ...]
    wrong: Mapping[int, Swept | Unknown | None]
    points: Mapping[int, Sequence[CutPoint]]
    lost: Sequence[CutPoint]

    @property
    def doubtful(self) -> list[CutPoint]:
        """The cut points that are refused: those that are lost, and those that are doubtful by themselves."""
        return [*self.lost, *(point for k in first(self.points, self.islands) for point in self.points[k])]


def _seen(asked: _Asked, walk: Lineages, behind: Set[int]) -> _Seen:
    """The islands of a walk, swept as far as they rest on what is proved."""
    whole, lost = islands_of(walk, asked.column, asked.grounds, behind)
    islands, placed = _placed(whole, asked)
    fresh, wrong, points = _swept(asked, islands, placed)
    return _Seen(tuple(islands), tuple(one.pair for one in placed if one is not None), fresh, wrong, points, lost)


def _swept(
    asked: _Asked, islands: Sequence[Island], placed: Sequence[Placed | None]
) -> tuple[tuple[Pair, ...], dict[int, Swept | Unknown | None], dict[int, Sequence[CutPoint]]]:
    """The distinct pairs that were swept, and by their places islands without a proof with their doubtful points.

    Islands are asked in turn: what rests on a doubtful point is not, as it is another question once that is mended.
    """
    fresh: list[Pair] = []
    wrong: dict[int, Swept | Unknown | None] = {}
    points: dict[int, Sequence[CutPoint]] = {}
    resting = set[CutPoint]()
    unknown = dict.fromkeys(one.pair for one in placed if one is not None and one.pair not in asked.known)
    waiting = deque(in_turn(islands, asked.column) if len(unknown) > 1 else range(len(islands)))
    while waiting:
        taken, asking = list[int](), dict[Pair, None]()
        while waiting and len(asking) < max(1, asked.options.workers):
            k = waiting.popleft()
            one = placed[k]
            fresh_pair = one is not None and one.pair not in asked.known
            if not fresh_pair or resting.isdisjoint(islands[k].given):
                taken.append(k)
                asking.update({one.pair: None} if one is not None and fresh_pair else {})
        _sweep(tuple(asking), asked, len(fresh))
        fresh.extend(asking)
        found = {k: asked.known[one.pair] if (one := placed[k]) is not None else None for k in taken}
        refused = {k: one for k, one in found.items() if not is_proved(one, islands[k])}
        wrong |= refused
        points |= {k: doubtful(one, islands[k]) for k, one in refused.items()}
        if refused and len(fresh) < len(unknown):
            resting = resting_on(points, islands, asked.column)
    return tuple(fresh), wrong, points


def _cost(pair: Pair, found: Swept | Unknown) -> float:
    """How many steps were swept to find this."""
    return steps_of(pair.parallel) * (REFUTED if isinstance(found, Swept) and found.is_refuted else 1.0)


def _early(asked: _Asked) -> frozenset[Form]:
    """Forms of guesses without a proof in the beginning of a long plan, where no guess of the form has one: layers are
    alike, and a plan is walked from its beginning for each guess that is refused.
    """
    every = len(asked.column.events)
    if every < LONG:
        return frozenset()
    steps = int(EARLY * every)
    walk = guessed(asked.grounds, asked.column.plan, asked.binding, NOTHING, asked.microbatch, steps=steps)
    if not walk.cuts or asked.unproved(cut((walk,)).questions):
        return frozenset()
    seen = _seen(asked, walk, frozenset())
    forms = {point: asked.grounds.form(point[1], tuple(s.base for s in value)) for point, value in walk.cuts.items()}
    wrong = {point for points in seen.points.values() for point in points}
    return frozenset({forms[point] for point in seen.doubtful} - {forms[point] for point in walk.cuts.keys() - wrong})


def _walked(asked: _Asked, learned: Learned) -> tuple[Lineages, Learned]:
    """A walk that follows no node whose stage has no proof, and what is known of these nodes with it."""
    plan = asked.column.plan
    while True:
        known = guessed(asked.grounds, plan, asked.binding, learned, asked.microbatch, asked.progress)
        walk = guessed_ends(known, plan, asked.binding)
        fresh = asked.unproved(cut((walk,)).questions) - learned.closed
        if not fresh:
            return walk, learned
        learned = replace(learned, closed=learned.closed | fresh)


def _placed(islands: Sequence[Island], asked: _Asked) -> tuple[list[Island], list[Placed | None]]:
    """The islands with their pairs: for the parts of an island where all of them have proved ones, else for all of it.

    None where there is no proved pair.
    """
    tiles = iter(_proved([tile_of(part, asked.source) for island in islands for part in island.parts], asked))
    each = [[(part, next(tiles)) for part in island.parts] for island in islands]
    in_parts = [bool(found) and all(one is not None for _, one in found) for found in each]
    others = [island for island, apart in zip(islands, in_parts, strict=True) if not apart]
    whole = iter(_proved([pair_of(island, asked.source) for island in others], asked))
    pairs = zip(islands, each, in_parts, strict=True)
    found = [one for island, own, apart in pairs for one in (own if apart else [(island, next(whole))])]
    return [island for island, _ in found], [one for _, one in found]


def _proved(placed: Sequence[Placed | None], asked: _Asked) -> list[Placed | None]:
    """Of each pair the first way to ask it of which all nodes and laws are proved; None where there is none."""
    each = [ways(one, asked.thins) for one in placed]
    every = [*chain(*each)]
    open_ = asked.unproved(_questions(every, asked.source.plan))
    lawless = asked.unproved(tuple(dict.fromkeys(law for one in every for law in one.laws)))

    def is_so(one: Placed) -> bool:
        known = open_.isdisjoint(nodes.signature for nodes in one.nodes)
        return known and lawless.isdisjoint(law.signature for law in one.laws)

    return [next(filter(is_so, found), None) for found in each]


def _sweep(pairs: Sequence[Pair], asked: _Asked, before: int) -> None:
    """Note what the sweep says of pairs of plans. before: how many were swept in this round."""
    alone = replace(asked.options, workers=0, solver=replace(asked.options.solver, exhibit=False))

    def swept(pair: Pair) -> Swept:
        found = sweep(
            pair.single, pair.parallel, alone, most_operations=MOST_OPERATIONS, proofs=asked.proofs, most_full=MOST_FULL
        )
        return replace(found, runs=None)

    found = run_all(
        pairs,
        swept,
        asked.options.workers,
        SECONDS,
        asked.options.memory_mib,
        lambda done: asked.progress(before + done, before + len(pairs), "islands"),
    )
    asked.known.update(zip(pairs, found, strict=True))


def _questions(placed: Sequence[Placed], plan: Plan) -> tuple[Stage, ...]:
    """What must hold of the single-device nodes of pairs on one column, or on tiles."""
    members: dict[Signature, dict[Member, None]] = defaultdict(dict)
    for nodes in (nodes for one in placed for nodes in one.nodes):
        members[nodes.signature].update(dict.fromkeys(nodes.members))
    laws = [law for signature in members for law in column_laws(signature, plan.columns) if plan.columns > 1]
    return (*(Members(signature, tuple(found)) for signature, found in members.items()), *laws)
