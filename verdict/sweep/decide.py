"""Deciding claims: each distinct one once, in a pool of processes, with cones that grow where they are too small."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from verdict.counting import Progress
from verdict.options import Options
from verdict.outcome import Answer, Outcome, Proved, Unknown
from verdict.solver import TOLD_APART, Proofs
from verdict.sweep.claim import MOST_ELEMENTS, Claim, Cone, cone_of, grown, key_of, size_of
from verdict.sweep.prove import prove
from verdict.sweep.trace import Traces
from verdict.sweep.trial import Trial
from verdict.workers import run_all

MOST_GROWTH = 40
"""How often the cone of one claim grows: back through an update to two gradients that are equal takes some twenty."""
MOST_TERMS = 10_000
"""The most terms of a normal form: a claim that needs more is likelier a wrong guess than a right one. The loss of 256
tokens whose vocabulary is divided takes half of them.
"""
CONFIRMING = 0.03
"""Seconds for a second opinion on what has a proof: of claims over many steps it often says nothing at all."""
CLAIMS = "claims"
TOO_LARGE = "its steps are too large to be executed on symbols"
DIFFERENT = Unknown(TOLD_APART)


@dataclass(slots=True)
class Decided:
    """outcomes: of each canonical claim that was asked. proofs: those of this process, by their form."""

    outcomes: dict[bytes, Outcome]
    proofs: Proofs = field(default_factory=Proofs)

    @property
    def distinct(self) -> int:
        """How many distinct claims were proved."""
        return sum(isinstance(outcome, Proved) for outcome in self.outcomes.values())

    @property
    def answers(self) -> tuple[Answer, ...]:
        """What the solvers said of the distinct claims that were proved, asked anew."""
        return tuple(a for outcome in self.outcomes.values() if isinstance(outcome, Proved) for a in outcome.answers)

    @property
    def methods(self) -> tuple[tuple[str, int], ...]:
        """Scalar equalities of the distinct claims that were proved, by what closed them."""
        total: Counter[str] = Counter()
        for outcome in self.outcomes.values():
            if isinstance(outcome, Proved):
                total.update(dict(outcome.methods))
        return tuple(sorted(total.items()))


def decide(
    traces: Traces, claims: Sequence[Claim], known: Decided, options: Options, progress: Progress,
    most_growth: int = MOST_GROWTH,
) -> list[tuple[Claim, str]]:  # fmt: skip
    """The claims without a proof, and why. What is decided is kept in `known`.

    A claim whose smallest cone is too large is not looked at: cones only grow. One whose sides differ on random numbers
    is not put to the solver, but where the run is exhaustive.
    """
    trial = None if options.exhaustive else Trial(traces, options.solver.seed)
    smallest = [(claim, cone_of(traces, claim)) for claim in claims]
    fits = [size_of(traces, cone) <= MOST_ELEMENTS for _, cone in smallest]
    pending = [pair for pair, small in zip(smallest, fits, strict=True) if small]
    refused = [(claim, TOO_LARGE) for (claim, _), small in zip(smallest, fits, strict=True) if not small]
    for growth in range(most_growth + 1):
        keyed = [(key_of(traces, claim, cone), claim, cone) for claim, cone in pending]
        if trial is not None:
            _sift(trial, keyed, known)
        _ask(traces, keyed, known, options, progress)
        pending = []
        for key, claim, cone in keyed:
            outcome = known.outcomes[key]
            if isinstance(outcome, Proved):
                continue
            larger = grown(traces, claim, cone) if growth < most_growth else None
            if larger is None:
                refused.append((claim, _why(outcome)))
            else:
                pending.append((claim, larger))
        if not pending:
            break
    return refused


def _sift(trial: Trial, keyed: Sequence[tuple[bytes, Claim, Cone]], known: Decided) -> None:
    """Note the claims that differ on random numbers."""
    for key, (claim, cone) in {key: (claim, cone) for key, claim, cone in keyed}.items():
        if key not in known.outcomes and trial.differ(claim, cone):
            known.outcomes[key] = DIFFERENT


def _ask(
    traces: Traces, keyed: Sequence[tuple[bytes, Claim, Cone]], known: Decided, options: Options,
    progress: Progress,
) -> None:  # fmt: skip
    """Decide each distinct claim that is not known; those whose cones have the same single-device steps together."""
    groups: dict[tuple[int, ...], dict[bytes, Claim]] = defaultdict(dict)
    asked: set[bytes] = set()
    for key, claim, cone in keyed:
        if key in known.outcomes or key in asked:
            continue
        asked.add(key)
        groups[cone.single][key] = claim
    solver = replace(
        options.solver,
        exhibit=False,
        alike=not options.exhaustive,
        confirms=False,
        term_limit=min(options.solver.term_limit, MOST_TERMS),
        confirm_timeout=min(options.solver.confirm_timeout, CONFIRMING),
    )
    tasks = list(groups.items())
    proofs = None if options.exhaustive else known.proofs
    done = 0

    def decided(place: int, _: object) -> None:
        nonlocal done
        done += len(tasks[place][1])
        progress(done, len(asked), CLAIMS)

    progress(0, len(asked), CLAIMS)
    found = run_all(
        tasks,
        lambda task: prove(traces, list(task[1].values()), frozenset(task[0]), solver, proofs),
        options.workers,
        options.solver.timeout,
        options.memory_mib,
        lambda _: None,
        decided,
    )
    for (_, group), outcomes in zip(tasks, found, strict=True):
        each = [outcomes] * len(group) if isinstance(outcomes, Unknown) else outcomes
        known.outcomes.update(zip(group, each, strict=True))


def _why(outcome: Outcome) -> str:
    return outcome.reason if isinstance(outcome, Unknown) else "the two sides differ"
