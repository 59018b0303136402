"""Plans that leave values unsaid: verified with these as inputs, and where they matter, what would say them."""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from verdict.graph import Node, Plan
from verdict.graph.lockstep import attribute
from verdict.graph.sources import in_short, source_of
from verdict.graph.unsaid import UNSAID, with_unsaid
from verdict.observer import SILENT
from verdict.outcome import Finding
from verdict.phases.query import Answers, Query
from verdict.report import Repair, Report, Verdict
from verdict.words import ranks_text

REDUCE, ALL_REDUCE = "reduce", "all_reduce"


class _Told(NamedTuple):
    """A reduce on its members, of which some go on with what it leaves them. group: these, the root, and by what it
    reduces. places: of each member, its segment and where in that it stands. left: the members that read what is left,
    and the tensors that hold it.
    """

    group: tuple[Any, ...]
    places: dict[int, tuple[int, int]]
    left: dict[int, int]


def with_values_unsaid(query: Query, answers: Answers) -> Iterator[Report]:
    """The answers to a query whose plans may leave values unsaid. Where what is refuted would be proved if each reduce,
    of which a member reads what it leaves, gave its result to all, this is what is wrong.
    """
    single, parallel = with_unsaid(query.single, query.parallel)
    if single is query.single and parallel is query.parallel:
        yield from answers(query)
        return
    report = None
    for report in answers(replace(query, single=single, parallel=parallel)):
        yield report
    reduces = list(_left(query.parallel))
    if report is None or report.verdict is not Verdict.REFUTED or not reduces or not query.causes:
        return
    plan = _given_to_all(query.parallel, reduces)
    *_, last = answers(replace(query, parallel=plan, observer=SILENT, causes=False))
    if last.verdict is Verdict.PROVED:
        each = (_finding(query.parallel, told) for told in reduces)
        findings = tuple({finding.title: finding for finding in each}.values())
        first = findings[0]
        values, counterexample = report.findings[0].values, report.findings[0].counterexample
        told = (replace(first, values=values, counterexample=counterexample), *findings[1:])
        sentence = "all_reduce in place of reduce, so that all ranks have what they go on with: every obligation holds"
        yield replace(report, findings=told, repairs=(Repair((first.code,), sentence, plan, True, told),), pictures=())


def _left(plan: Plan) -> Iterator[_Told]:
    """The reduces of a plan of which a member that is not the root reads what it finds in its memory afterwards: the
    value that is left unsaid follows its reduce.
    """
    met: dict[Hashable, _Told] = {}
    for program in plan.programs:
        for number in dict.fromkeys(call.segment for call in program):
            segment = plan.segments[number]
            counts: dict[Hashable, int] = defaultdict(int)
            last = None
            for place, node in enumerate(segment.nodes):
                group = tuple(attribute(node, name) for name in ("ranks", "root", "reduce"))
                if node.op == REDUCE:
                    last = met.setdefault((*group, counts[group]), _Told(group, {}, {}))
                    last.places[segment.device] = number, place
                    counts[group] += 1
                elif node.op == UNSAID and last is not None and last.group == group:
                    last.left[segment.device] = node.outputs[0]
    yield from (told for told in met.values() if told.left)


def _given_to_all(plan: Plan, reduces: list[_Told]) -> Plan:
    """The plan in which each of these reduces is an all_reduce, and the members that read what it left have its result.
    """
    tensors, nodes = list(plan.tensors), [list(segment.nodes) for segment in plan.segments]
    for told in reduces:
        for device, (number, place) in told.places.items():
            node = nodes[number][place]
            if device in told.left:
                made = told.left[device]
            elif node.outputs:
                (made,) = node.outputs
            else:
                tensors.append(tensors[node.inputs[0]])
                made = len(tensors) - 1
            attrs = tuple(each for each in node.attrs if each[0] != "root")
            nodes[number][place] = node._replace(op=ALL_REDUCE, outputs=(made,), attrs=attrs)
    said = {tensor for told in reduces for tensor in told.left.values()}
    segments = tuple(
        segment._replace(nodes=tuple(node for node in row if node.op != UNSAID or said.isdisjoint(node.outputs)))
        for segment, row in zip(plan.segments, nodes, strict=True)
    )
    return replace(plan, tensors=tuple(tensors), segments=segments, lines=())


def _finding(plan: Plan, told: _Told) -> Finding:
    number, place = next(iter(told.places.values()))
    node: Node = plan.segments[number].nodes[place]
    ranks = tuple(sorted(told.left))
    where, goes = f"{node.name} on {ranks_text(ranks)}", "go" if len(ranks) > 1 else "goes"
    return Finding(
        "wrong-collective",
        f"{in_short(node.name)} gives its result to rank {told.group[1]} alone, {ranks_text(ranks)} {goes} on without",
        where,
        ("what a reduce leaves beside its root differs from backend to backend",),
        "use all_reduce, or read its result at the root alone",
        ranks=ranks,
        kind=REDUCE,
        source=source_of(plan, where),
    )
