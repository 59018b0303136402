"""Why a refuted plan is wrong: one finding for each cause, the earliest first."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose import diagnose, scene_of
from verdict.graph import ABSENT, COPY, Fault, Node, Plan
from verdict.graph.kept import is_program
from verdict.graph.lockstep import RECV
from verdict.graph.sources import source_of
from verdict.inputs import USUAL
from verdict.lineage import Evidence
from verdict.outcome import Finding, joined
from verdict.phases.certify import MISFIT
from verdict.phases.query import Examined, Query
from verdict.phases.summary import swept_of
from verdict.report import Proofs, Report
from verdict.sweep import OWN_SHARE, apart_on_numbers, findings, steps_of, sweep

MOST_MENDED = 150
"""Up to so many steps of all ranks, plans are explained by corrections; of larger ones the walk's findings stay."""
MOST_RECORDED = 5_000
"""Up to so many steps of all ranks, what the walk refutes is explained by corrections that mend the outputs: in plans,
and in programs, of whose operators the walk knows least; in others, too, where it names no place.
"""
FEW = 3
"""So many causes are believed where the walk has fewer findings: faults that are made together are two or three."""
MANY = 12
"""So many causes are looked for where the walk says of no node what it does wrong."""
UNEXPLAINED = "not-equivalent"
"""The code of what is seen in outputs alone."""
LAW = "law-fails"
"""The code of what names no place of the parallel plan: that an operator does not add up over its rows, as a scatter
does not, which adds to something. A plan that sums what it makes of such rows may be right in that.
"""
RESTORED = "wrong-constant"
"""The code of what is repaired by the attributes of the single-device node: no other change is smaller."""
MET_LATER = ("wrong-slice", "wrong-input", "missing-reduction")
"""Codes of shares and parts that the walk finds where they are used: where one meets another share, or is read."""
LEFT_OUT = frozenset({"wrong-scale", "wrong-input"})
"""Codes of what is handed on as it is, where an operator is left out."""
CROSSED = frozenset({"wrong-order", "wrong-peer"})
"""Codes of messages that are taken for each other: numbers show only what is made of them."""
SCALES = frozenset({"wrong-scale", "mean-instead-of-sum"})
"""Codes of one thing, a factor, at different nodes: where the walk finds it, its place is the nearer one."""
MATTERS_OF_FORM = frozenset(
    {"assumption-denied", "dtype-differs", "gradient-missing", "loss-missing", "output-missing"}
)
"""Codes of findings that outputs do not show, or that say what is not there."""


def explain(query: Query, examined: Examined, repaired: bool = False) -> Report:
    """The report with one finding for each cause, the earliest first, each with what it takes to understand it.

    repaired: whether a repair of what the walk found is proved: where that restores attributes of the single-device
    plan, no other cause is looked for. A plan that was refuted stays so: where nothing can be explained, the findings
    stand as they were made.
    """
    report = _explained(query, examined, repaired)
    findings, notes = (
        tuple(replace(finding, source=source_of(query.parallel, finding.where)) for finding in found)
        for found in (report.findings, report.notes)
    )
    return replace(report, findings=findings, notes=notes)


def _explained(query: Query, examined: Examined, repaired: bool) -> Report:
    report = examined.report
    if not report.findings or report.swept is not None:
        return report
    report = replace(report, findings=_diagnosed(query, examined) or report.findings)
    restored = repaired and {finding.code for finding in report.findings} == {RESTORED}
    return report if restored or examined.raw.structural else _corrected(query, report)


def _diagnosed(query: Query, examined: Examined) -> tuple[Finding, ...]:
    """The findings of the walk, one for each cause."""
    (single, parallel), walks, stages = query.values, examined.walks, examined.stages
    outcomes = tuple(examined.outcomes[stage] for stage in stages.questions)
    scene = scene_of(single, parallel, walks, stages, outcomes, query.options.exhaustive) if walks else None
    denied = (finding for finding in examined.report.findings if finding.code == "assumption-denied")
    found = diagnose(parallel, examined.raw, scene)
    kept = (*found[:1], *(finding for finding in found[1:] if not _is_misfit(finding)))
    return (*_by_partner(kept), *denied)


def _by_partner(found: Sequence[Finding]) -> Iterator[Finding]:
    """Findings of one code about one single-device node as one: ranks differ in a count, say."""
    kinds: dict[tuple[str, int], list[Finding]] = {}
    for number, finding in enumerate(found):
        about = finding.evidence
        partner = about.partner if isinstance(about, Evidence) and about.partner != ABSENT else -1 - number
        kinds.setdefault((finding.code, partner), []).append(finding)
    for first, *others in kinds.values():
        yield joined(first, others, [f"likewise at {one.where}: {one.title}" for one in others]) if others else first


def _is_misfit(finding: Finding) -> bool:
    """Whether the walk says that a tensor holds a value of another shape, as it does of what follows from a cause."""
    return finding.code == MISFIT and isinstance(finding.evidence, Evidence)


def _corrected(query: Query, report: Report) -> Report:
    """A refuted report with the causes that corrections show, where they mend all that differs, in a small plan that
    lists all its ranks.

    What the walk says of a plan that is built otherwise than the single-device plan may be beside the point, so causes
    that corrections show replace it. The walk's findings stay where they say more: where both find the same, unless
    the walk speaks of results alone that a node far before makes wrong, or of parts of what is no sum; and where it
    takes more corrections than the walk has findings, as some of them then mend a little by chance. What is refuted
    need not be proved to be equal elsewhere: nothing is corrected that numbers do not show here.
    """
    single, parallel = query.values
    recorded = is_program(parallel)
    told = {finding.code for finding in report.findings}
    most = MOST_RECORDED if recorded or told == {LAW} else MOST_MENDED
    small = parallel.columns == 1 and steps_of(parallel) <= most
    if not small or told & MATTERS_OF_FORM:
        return report
    swept = sweep(single, parallel, query.options, proves=False)
    if not swept.different and swept.fault is None:
        swept = apart_on_numbers(single, parallel, query.options, USUAL) or swept
    nothing_told = told <= {UNEXPLAINED, LAW}
    most = MANY if nothing_told else max(len(report.findings), FEW)
    found = findings(single, parallel, swept, most + 1) if swept.different and swept.fault is None else ()
    codes = {finding.code for finding in found}
    unexplained = found[:1] if recorded and len(found) <= len(report.findings) else found
    same = codes == told and not _nearer(parallel, report.findings, found)
    explained = replace(report, findings=found, open=(), proofs=Proofs(), swept=swept_of(swept))
    if nothing_told:
        return explained if found and found[0].parallel else report
    if not found or len(found) > most or any(finding.code == UNEXPLAINED for finding in unexplained):
        return report
    crossed = len(report.findings) == 1 and report.findings[0].code in CROSSED and _received(report.findings[0])
    of_shares = any(isinstance(finding.kind, tuple) and OWN_SHARE in finding.kind for finding in found)
    if crossed or ((same or codes | told <= SCALES) and not (_left_out(found) or of_shares)):
        return replace(report, findings=tuple(_with_corrections(report.findings, found)))
    return explained


def _with_corrections(told: Sequence[Finding], found: Sequence[Finding]) -> Iterator[Finding]:
    """The walk's findings, with what corrects them as further evidence of the first of each code."""
    left = list(found)
    for number, finding in enumerate(told):
        mine = [one for one in left if one.code == finding.code or number == len(told) - 1]
        left = [one for one in left if one not in mine]
        evidence = (about for one in mine for about in (one.evidence, *one.also) if about is not None)
        yield replace(finding, also=(*finding.also, *evidence))


def _nearer(plan: Plan, told: Sequence[Finding], found: Sequence[Finding]) -> bool:
    """Whether corrections name a node far before the results of which alone the walk says that they are wrong, or
    another one than that at which shares meet that do not belong together, or at which a part is read.
    """
    results = [about for finding in told if isinstance(about := finding.evidence, Evidence) and about.partner == ABSENT]
    made = {(node.op, node.name) for about in results if (node := _made_by(plan, about)) is not None}
    named = {(p.op, p.name) for one in found if isinstance(one.evidence, Fault) for p in one.evidence.places}
    nodes = (about for one in told if isinstance(about := one.evidence, Evidence) and about.partner != ABSENT)
    met = {place.name for about in nodes for place in about.places}
    if met and len(told) == len(found) == 1 and found[0].code in MET_LATER:
        return met.isdisjoint(name for _, name in named)
    return bool(results and named) and len(found) <= len(told) and made.isdisjoint(named)


def _received(finding: Finding) -> bool:
    """Whether the walk says of a message that it is another one than is meant."""
    about = finding.evidence
    return isinstance(about, Evidence) and finding.where.startswith(f"{RECV} ")


def _left_out(found: Sequence[Finding]) -> bool:
    """Whether corrections name a node that only hands on what it reads, where something must be done to it."""
    faults = [about for one in found if one.code in LEFT_OUT and isinstance(about := one.evidence, Fault)]
    return any(place.op == COPY for about in faults for place in about.places)


def _made_by(plan: Plan, about: Evidence) -> Node | None:
    """The node that makes a result; where one of a single input does, that which makes what it reads."""
    device, tensor = about.places[0].device, about.tensors[0]
    nodes = [node for segment in plan.segments if segment.device == device for node in segment.nodes]
    makers = {output: node for node in nodes for output in node.outputs}
    node = makers.get(tensor)
    for _ in nodes:
        if node is None or len(node.inputs) != 1 or node.inputs[0] not in makers:
            break
        node = makers[node.inputs[0]]
    return node
