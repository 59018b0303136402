"""Repairs of effects: waits, events and memory of its own, put in one after the other until no access conflicts.

Values do not depend on effects where nothing conflicts, so that each step costs one look at the order of accesses; the
plan with all of them is verified as any other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from verdict.graph import ABSENT, Attrs, Fault, Node, Place, Plan
from verdict.graph.effects import ASYNCHRONOUS, AWAIT, EVENT, MAIN, RECORD, STREAM, WAIT
from verdict.graph.lockstep import attribute
from verdict.graph.memory import check_effects
from verdict.ops import RULES
from verdict.ops.casts import FRESH_COPY
from verdict.outcome import Finding
from verdict.phases import Query
from verdict.repair.case import ranks_in_words
from verdict.repair.edits import Patch, Site, apply, joined, node_at, with_input
from verdict.report import Repair, Report, Verdict

MOST_EFFECTS = 6
"""How many repairs of effects a plan gets, one after the other: faults that are made together are two or three."""


class Access(NamedTuple):
    """Two conflicting nodes of a device, and what the one reads. reader: None for the end of the step."""

    reader: Site | None
    writer: Site
    tensor: int


class Mended(NamedTuple):
    """A plan with a repair, and the repair in words."""

    sentence: str
    plan: Plan


Kind = Callable[[Plan, Access], Patch | None]


def effects(query: Query, report: Report, verified: Callable[[Query], Report]) -> tuple[Repair, ...]:
    """Repairs of a refuted plan of which nothing but accesses of memory is wrong, all of them together proved.

    verified: the report on a question, of which nothing is explained or repaired.
    """
    parallel = query.parallel
    findings = check_effects(parallel, RULES) if parallel.effects and query.options.attempts != 0 else ()
    if not findings or {finding.code for finding in report.findings} != {finding.code for finding in findings}:
        return ()
    plan = parallel
    sentences: list[str] = []
    while findings and len(sentences) < MOST_EFFECTS:
        step = _step(plan, findings)
        if step is None:
            return ()
        sentences.append(step.sentence)
        plan = step.plan
        findings = check_effects(plan, RULES)
    if findings or verified(replace(query, parallel=plan)).verdict is not Verdict.PROVED:
        return ()
    codes = tuple(dict.fromkeys(finding.code for finding in report.findings))
    return (Repair(codes, f"{'; '.join(sentences)}: every obligation holds", plan, True, report.findings),)


def _step(plan: Plan, findings: tuple[Finding, ...]) -> Mended | None:
    """The first repair of the first finding after which fewer accesses conflict, and none that did not before."""
    before = {finding.title for finding in findings}
    for mended in _candidates(plan, findings[0]):
        after = {finding.title for finding in check_effects(mended.plan, RULES)}
        if after < before:
            return mended
    return None


def _candidates(plan: Plan, finding: Finding) -> Iterator[Mended]:
    """What may be done about a finding, at all places where its nodes conflict."""
    evidence = finding.evidence
    if not isinstance(evidence, Fault):
        return
    accesses = _accesses(plan, evidence)
    if accesses is None:
        return
    ranks = ranks_in_words(tuple(sorted({place.device for place in evidence.places})))
    for words, kind in KINDS.get(finding.code, {}).items():
        patches = [kind(plan, access) for access in accesses]
        patch, held = joined(plan, [patch for patch in patches if patch is not None])
        if None not in patches and all(held):
            yield Mended(f"{_said(plan, words, accesses[0])} on {ranks}", apply(plan, patch))
    if finding.code in OWN_MEMORY:
        sentence = f"{_name(plan, evidence.tensors[1])} in memory of its own on {ranks}"
        yield Mended(sentence, _apart(plan, evidence.tensors[1]))


def _accesses(plan: Plan, evidence: Fault) -> list[Access] | None:
    """Where the nodes of a finding are, by device; None where one is not found. Of nodes of one name those are meant
    that stand where those of the first device do, which are the ones that read and write the tensors of the finding.
    """
    read, wrote = evidence.tensors
    first = evidence.places[0].device
    readers = [node_at(plan, site).inputs for site in _sites(plan, evidence.places[0], first)]
    writers = [node_at(plan, site).outputs for site in _sites(plan, evidence.places[1], first)]
    at_read = next((k for k, tensors in enumerate(readers) if read in tensors), 0)
    at_write = next((k for k, tensors in enumerate(writers) if wrote in tensors), None)
    found = []
    for device in dict.fromkeys(place.device for place in evidence.places):
        reads, writes = (_sites(plan, place, device) for place in evidence.places[:2])
        if at_write is None or len(reads) != len(readers) or len(writes) != len(writers):
            return None
        found.append(_access(plan, reads[at_read] if reads else None, writes[at_write], read))
    return found


def _access(plan: Plan, reader: Site | None, writer: Site, tensor: int) -> Access:
    """What the reader reads on its device of the tensor's logical tensor."""
    known = node_at(plan, reader).inputs if reader else node_at(plan, writer).outputs
    same = [one for one in known if one != ABSENT and plan.tensors[one].logical == plan.tensors[tensor].logical]
    return Access(reader, writer, tensor if tensor in known or not same else same[0])


def _sites(plan: Plan, place: Place, device: int) -> list[Site]:
    """The nodes of a device that are called as the one at a place."""
    return [
        Site(number, at)
        for number, segment in enumerate(plan.segments)
        if segment.device == device
        for at, node in enumerate(segment.nodes)
        if (node.op, node.name) == (place.op, place.name)
    ]


def _wait_for_writer(plan: Plan, access: Access) -> Patch | None:
    """A wait for what makes the tensor, before the read; at the end of the step, behind all that was issued."""
    wrote = node_at(plan, access.writer).outputs
    if len(wrote) != 1:
        return None
    if access.reader is None:
        last = access.writer._replace(at=len(plan.segments[access.writer.segment].nodes) - 1)
        return Patch(behind={last: (_wait(plan, wrote[0], MAIN),)})
    node = node_at(plan, access.reader)
    return Patch(instead={access.reader: (_wait(plan, wrote[0], _stream(node)), node)})


def _wait_for_reader(plan: Plan, access: Access) -> Patch | None:
    """A wait for the communication that reads the tensor, before its memory is written again."""
    if access.reader is None or attribute(node_at(plan, access.reader), ASYNCHRONOUS) is not True:
        return None
    node = node_at(plan, access.writer)
    return Patch(instead={access.writer: (_wait(plan, access.tensor, _stream(node)), node)})


def _read_behind_write(plan: Plan, access: Access) -> Patch | None:
    """An event behind the write, awaited before the read."""
    return _ordered(plan, access.writer, access.reader) if access.reader else None


def _write_behind_read(plan: Plan, access: Access) -> Patch | None:
    """An event behind the read, awaited before the write."""
    return _ordered(plan, access.reader, access.writer) if access.reader else None


def _ordered(plan: Plan, first: Site, then: Site) -> Patch | None:
    """Nodes of two streams, the one that is issued first done before the other begins."""
    one, other = node_at(plan, first), node_at(plan, then)
    if (first.segment == then.segment and first.at >= then.at) or attribute(one, ASYNCHRONOUS) is True:
        return None
    event = f"{one.name} is done"
    record = Node(RECORD, (), (), _attrs(_stream(one), event), one.name)
    await_it = Node(AWAIT, (), (), _attrs(_stream(other), event), one.name)
    return Patch(instead={then: (await_it, other)}, behind={first: (record,)})


def _copied(plan: Plan, access: Access) -> Patch | None:
    """A copy of the tensor behind the node that makes it, which is read in its place."""
    makers = [
        Site(number, at)
        for number, segment in enumerate(plan.segments)
        if segment.device == plan.segments[access.writer.segment].device
        for at, node in enumerate(segment.nodes)
        if access.tensor in node.outputs
    ]
    if access.reader is None or len(makers) != 1 or makers[0].segment != access.reader.segment:
        return None
    fresh = len(plan.tensors)
    made, node = node_at(plan, makers[0]), node_at(plan, access.reader)
    copy = Node(FRESH_COPY, (access.tensor,), (fresh,), _attrs(_stream(made)), made.name)
    return Patch(
        instead={access.reader: (with_input(node, access.tensor, fresh),)},
        behind={makers[0]: (copy,)},
        tensors=(plan.tensors[access.tensor],),
    )


def _apart(plan: Plan, tensor: int) -> Plan:
    """The plan with memory of its own for all shares of the tensor's logical tensor."""
    logical = plan.tensors[tensor].logical
    kept = (
        one._replace(tensors=tuple(t for t in one.tensors if plan.tensors[t].logical != logical))
        for one in plan.storages
    )
    return replace(plan, storages=tuple(one for one in kept if one.tensors))


KINDS: Mapping[str, Mapping[str, Kind]] = {
    "read-before-wait": {"wait for {writer} before {reader}": _wait_for_writer},
    "unordered-streams": {"record an event behind {writer}, await it before {reader}": _read_behind_write},
    "overwritten-early": {
        "wait for {reader} before {writer}": _wait_for_reader,
        "record an event behind {reader}, await it before {writer}": _write_behind_read,
    },
    "stale-read": {"{reader} reads a copy of {tensor}, made before {writer}": _copied},
}
"""What may be done about a conflict, by the code of its finding, in words and as a patch."""
OWN_MEMORY = frozenset({"stale-read", "overwritten-early"})
"""Conflicts that there are none of where the tensors live in memory of their own."""


def _wait(plan: Plan, tensor: int, stream: str) -> Node:
    return Node(WAIT, (tensor,), (), _attrs(stream), _name(plan, tensor))


def _attrs(stream: str, event: str = "") -> Attrs:
    return (*(((EVENT, event),) if event else ()), *(((STREAM, stream),) if stream != MAIN else ()))


def _stream(node: Node) -> str:
    return str(attribute(node, STREAM) or MAIN)


def _said(plan: Plan, words: str, access: Access) -> str:
    reader = _named(plan, access.reader) if access.reader else "the end of the step"
    return words.format(reader=reader, writer=_named(plan, access.writer), tensor=_name(plan, access.tensor))


def _named(plan: Plan, site: Site) -> str:
    node = node_at(plan, site)
    return f"{node.op} {node.name}"


def _name(plan: Plan, tensor: int) -> str:
    return plan.logicals[plan.tensors[tensor].logical].name
