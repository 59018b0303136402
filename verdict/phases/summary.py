"""From what the steps of a run found to the parts of its report."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from verdict.graph import ACCUMULATOR, ACTIVATION, BUFFER, GRAD, GRADIENT, INPUT, WEIGHT, Plan
from verdict.graph.computed import NAME as COMPUTED
from verdict.graph.lockstep import CHUNK, COMMUNICATION, LOADER, SEND
from verdict.graph.matched import BY_LAW
from verdict.graph.microbatches import unlike
from verdict.lineage import CHUNK_ORDER, INITIAL_STATE, INPUT_RANGES, Binding, Gap, Lineages, Reference
from verdict.lineage.goals import untrained
from verdict.lineage.judged import Judged, final_gradients
from verdict.ops import FACTS, RULES, without_rule
from verdict.ops.granted import NUMBERS, assumed
from verdict.outcome import Answer, Assumption, Finding, Outcome, Proved, Refuted, Unknown
from verdict.phases.by_masks import MASKS
from verdict.report import Asked, Evidence, Open, Proofs, Report, Side, Sweep
from verdict.report.questions import NO_PROOF, NO_RULE, NOT_ESTABLISHED, NOT_FOLLOWED, NOTHING_TO_COMPARE
from verdict.residue import Decided
from verdict.stage import Cut, Members, Stage
from verdict.stage.numbers import FULL, LARGER
from verdict.stage.vacuity import vacuous
from verdict.sweep import Swept
from verdict.words import listed

KINDS = frozenset({INPUT, WEIGHT, BUFFER, ACTIVATION, GRADIENT, ACCUMULATOR})
END = "output"
"""What stands in the place of an operator where something is said of a tensor, or of what is declared."""
SHOWN_RANKS = 8
"""How many ranks a finding names; dots stand for the others."""

REAL = Assumption("real-arithmetic", "numbers are real numbers, without rounding or overflow")
BUFFERED = Assumption("buffered-sends", "a send does not wait for its receive")
LOSS_SUM = Assumption("loss-sums-columns", "the loss is the sum of the losses of all replicas and microbatches")
REDUCTION = Assumption(
    "shape-reduction",
    "what holds at two choices of small shapes with the same pattern of cuts, and on numbers at larger ones, holds at "
    "full shapes (docs/soundness.md)",
)


SIZED = "constants-of-sizes"


def side_of(plan: Plan) -> Side:
    """The size of one plan. Nodes: of the plan devices, for one microbatch."""
    return Side(
        plan.source,
        plan.format,
        plan.mesh,
        plan.ranks,
        plan.microbatches,
        plan.size,
        sum(logical.kind == WEIGHT for logical in plan.logicals),
        plan.replicas,
    )


def trained_weights(reference: Reference) -> int:
    """The number of weights of which the single-device plan computes a gradient."""
    return sum(bool(bases) for bases in final_gradients(reference).values())


def walked(judged: Sequence[Sequence[Judged]], outcomes: Sequence[Outcome]) -> Evidence:
    """What the walk established: outputs that are right in every walked column, if every stage is proved."""
    if not judged or not all(isinstance(outcome, Proved) for outcome in outcomes):
        return Evidence()
    right = [frozenset(one.number for one in column if one.right) for column in judged]
    return Evidence(frozenset.intersection(*right), "walk")


def gaps_of(walks: Sequence[Lineages]) -> Iterator[Open]:
    """What the walks could say nothing about."""
    for walk in walks:
        for gap in walk.gaps:
            yield open_gap(gap)


def unlike_of(plan: Plan) -> Iterator[Open]:
    """Microbatches for which other segments run than for the others: the one that is walked does not stand for them."""
    for device, segment, microbatch in unlike(plan):
        name = plan.segments[segment].name
        why = f"for microbatch {microbatch} another segment runs in its place: no microbatch stands for all"
        yield Open(f"segment {name} on rank {device}", why, NOT_FOLLOWED)


def missing_of(table: Reference) -> Iterator[Open]:
    """What the single-device plan leaves without a question. One without a loss and without gradients is about its
    further outputs alone.
    """
    plan = table.plan
    for name in untrained(table) if plan.losses or plan.gradients else ():
        why = "the single-device plan computes no gradient of it (nothing to compare)"
        yield Open(f"weight {name}", why, NOTHING_TO_COMPARE)
    if not plan.losses and not plan.outputs:
        yield Open(table.plan.source, "it declares no loss (nothing to compare)", NOTHING_TO_COMPARE)
    for nothing in vacuous(table):
        yield Open(nothing.where, nothing.reason, NOTHING_TO_COMPARE)
    for node in dict.fromkeys(node for segment in table.plan.segments for node in segment.nodes):
        if not has_rule(node.op):
            yield Open(f"{node.op} {node.name} of the single-device plan", without_rule(node.op), NO_RULE)


def has_rule(op: str) -> bool:
    """Whether an operator is known. Of one that is not nothing is proved, on either side, whoever reads what it makes:
    it may stand for what decided the rest of a recording.
    """
    return op in COMMUNICATION or op in (CHUNK, LOADER) or FACTS.of(op) is not None


def open_gap(gap: Gap) -> Open:
    """A gap as an open question of the report."""
    op = gap.place.op
    if op == END:
        return Open(gap.place.name, gap.reason, NOT_ESTABLISHED)
    known = op in KINDS or has_rule(op)
    return Open(gap.place.spelled, gap.reason, NOT_FOLLOWED if known else NO_RULE)


def open_of(stages: Cut, outcomes: Sequence[Outcome]) -> Iterator[Open]:
    """The stages that were neither proved nor refuted."""
    for stage, outcome in zip(stages.questions, outcomes, strict=True):
        if isinstance(outcome, Unknown):
            yield Open(f"stage of {stage.signature.op} {stage.signature.spelled}", outcome.reason, NO_PROOF)


def refuted_of(stages: Cut, outcomes: Sequence[Outcome]) -> Iterator[Finding]:
    """One finding for each refuted stage."""
    for stage, outcome in dict(zip(stages.questions, outcomes, strict=True)).items():
        if isinstance(outcome, Refuted):
            yield _not_equivalent(stages, stage, outcome)


def proofs_of(stages: Cut, outcomes: Sequence[Outcome]) -> Proofs:
    """How many stages and equalities were closed by what."""
    methods: Counter[str] = Counter()
    for outcome in outcomes:
        if isinstance(outcome, Proved):
            methods.update(dict(outcome.methods))
    return Proofs(
        stages=len(stages.occurrences),
        distinct=sum(isinstance(stage, Members) for stage in stages.questions),
        laws=sum(not isinstance(stage, Members) for stage in stages.questions),
        obligations=sum(methods.values()),
        identical=sum(_identical(outcome) for outcome in outcomes),
        confirmed=sum(
            isinstance(outcome, Proved) and outcome.confirmed and not _identical(outcome) for outcome in outcomes
        ),
        methods=tuple(sorted(methods.items())),
        solvers=asked([a for outcome in outcomes if isinstance(outcome, Proved) for a in outcome.answers]),
        full=sum(isinstance(outcome, Proved) and outcome.larger == FULL for outcome in outcomes),
        larger=sum(isinstance(outcome, Proved) and outcome.larger == LARGER for outcome in outcomes),
    )


def asked(answers: Sequence[Answer]) -> tuple[Asked, ...]:
    """What each solver said, counted."""
    found = []
    for solver in dict.fromkeys(answer.solver for answer in answers):
        said = [answer for answer in answers if answer.solver == solver]
        unsat = [answer for answer in said if answer.said == "unsat"]
        sampled = sum(answer.asked < answer.total for answer in unsat)
        too_large = sum(not answer.said for answer in said)
        found.append(Asked(solver, len(unsat), sampled, len(said) - len(unsat) - too_large, too_large))
    return tuple(found)


def swept_of(swept: Swept) -> Sweep:
    """What the sweep proved, for the report."""
    return Sweep(
        swept.steps,
        swept.claims,
        swept.distinct,
        swept.methods,
        swept.compared,
        swept.shapes,
        swept.larger,
        solvers=asked(swept.answers),
    )


def sized_in(swept: Iterable[Swept]) -> tuple[Assumption, ...]:
    """That constants which are made of sizes shrink with these, where a proof rests on that."""
    constants = dict.fromkeys(each.sized for each in swept if each.constants)
    text = f"constants that are made of the sizes of axes shrink, or grow, with these: {', '.join(constants)}"
    return (Assumption(SIZED, text),) if constants else ()


def with_islands(report: Report, found: Decided) -> Report:
    """A report that rests on cut points, with what the sweep proved between them, if there are any."""
    if not found.islands:
        return report
    methods: Counter[str] = Counter()
    for swept in found.swept:
        methods.update(dict(swept.methods))
    told = Sweep(
        steps=sum(swept.steps for swept in found.swept),
        claims=sum(swept.claims for swept in found.swept),
        distinct=sum(swept.distinct for swept in found.swept),
        methods=tuple(sorted(methods.items())),
        outputs=len(found.walk.cuts),
        shapes=", ".join(sorted({swept.shapes for swept in found.swept})),
        larger="",
        solvers=asked([answer for swept in found.swept for answer in swept.answers]),
        islands=len(found.islands),
    )
    ops = sorted({node.op.removesuffix(GRAD) for island in found.islands for node in island.nodes})
    rules = (assumption for op in ops if op in RULES for assumption in RULES[op].assumptions)
    given = assumed(found.walk.reference.plan)
    assumptions = tuple(dict.fromkeys((*report.assumptions, *rules, *given, *sized_in(found.swept))))
    evidence = Evidence(report.evidence.outputs, "walk, sweep between its cut points")
    return replace(report, swept=told, evidence=evidence, assumptions=assumptions)


def _identical(outcome: Outcome) -> bool:
    return isinstance(outcome, Proved) and {name for name, count in outcome.methods if count} <= {"same"}


def assumptions_of(
    single: Plan, parallel: Plan, binding: Binding, walks: Sequence[Lineages], stages: Cut
) -> tuple[Assumption, ...]:
    """All that the verdict rests on: of arithmetic, reduction, files, walks and operators' rules; each once."""
    used = sorted({stage.signature.op.removesuffix(GRAD) for stage in stages.questions})
    sends = any(node.op == SEND for segment in parallel.segments for node in segment.nodes)
    found = (
        REAL,
        REDUCTION,
        *((BUFFERED,) if sends else ()),
        *((LOSS_SUM,) if parallel.columns > 1 and parallel.losses else ()),
        *single.assumptions,
        *parallel.assumptions,
        *binding.assumptions,
        *(assumption for walk in walks for assumption in walk.assumptions),
        *(assumption for op in used if op in RULES for assumption in RULES[op].assumptions),
    )
    return tuple(dict.fromkeys(found))


def denied_of(assumptions: Sequence[Assumption], denied: Collection[str]) -> Iterator[Finding]:
    """One finding for each assumption that is denied."""
    for assumption in assumptions:
        if assumption.name in denied:
            yield Finding("assumption-denied", assumption.text, f"assumption {assumption.name}")


def known_assumptions(plans: Sequence[Plan]) -> frozenset[str]:
    """The names of all assumptions that a verdict on these plans could rest on."""
    of_rules = {assumption.name for rule in RULES.values() for assumption in rule.assumptions}
    of_plans = {assumption.name for plan in plans for assumption in plan.assumptions}
    own = {assumption.name for assumption in (REAL, REDUCTION, BUFFERED, LOSS_SUM, BY_LAW, NUMBERS, MASKS)}
    return frozenset(own | {COMPUTED, SIZED, INITIAL_STATE, INPUT_RANGES, CHUNK_ORDER} | of_rules | of_plans)


def _not_equivalent(stages: Cut, stage: Stage, outcome: Refuted) -> Finding:
    op = stage.signature.op
    if not isinstance(stage, Members):
        title = f"{op} does not add up over its shares"
        return Finding("law-fails", title, f"{type(stage).__name__} of {op}", values=outcome.mismatches)
    wrong = sorted(outcome.members)
    here = [occurrence for occurrence in stages.occurrences if occurrence.stage == stage]
    places = [place for occurrence in here for member in wrong for place in occurrence.places[member]]
    ranks = sorted({place.device for place in places})
    return Finding(
        "not-equivalent",
        f"{op} computes something else than its single-device partner",
        places[0].spelled,
        (*_attributes(stage, wrong[0]), f"on ranks {listed(ranks, SHOWN_RANKS)}"),
        extent=len(places),
        values=outcome.mismatches,
    )


def _attributes(stage: Members, member: int) -> tuple[str, ...]:
    own, single = dict(stage.members[member].attrs), dict(stage.signature.attrs)
    apart = [name for name in sorted(own.keys() | single.keys()) if own.get(name) != single.get(name)]
    if not apart:
        return ()
    text = ", ".join(f"{name} is {own.get(name)!r} (single-device {single.get(name)!r})" for name in apart)
    return (f"attributes differ: {text}",)
