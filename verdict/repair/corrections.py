"""Repairs of what the sweep explains: its corrections, made on the plan's nodes all at once, and the whole verified."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from verdict.errors import VerdictError
from verdict.graph import COPY, SUM, Attrs, Fault, Node, Tensor
from verdict.graph.fault import Added, Dropped, Edit, Given, Multiplied, NodeAt, Reduced, Wired
from verdict.graph.sources import cited_in, in_short
from verdict.ops.scaling import multiplied_by
from verdict.outcome import Finding
from verdict.phases import Examined, Query
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, apply, joined, node_at, with_attrs, with_output
from verdict.report import Repair, Report, Verdict

MOST_NAMED = 3
"""How many corrections a sentence names; the rest is counted."""


def corrections(
    query: Query, examined: Examined, report: Report, verified: Callable[[Query], Report]
) -> tuple[Repair, ...]:
    """Repairs of a refuted plan: the corrections of its findings, where the plan with all of them is proved. One that
    makes no plan (a mean of integers, say, which back ends refuse) is none.

    verified: the report on a question, of which nothing is explained or repaired.
    """
    if query.parallel.effects or query.options.attempts == 0:
        return ()
    case = Case(query.single, query.parallel, examined)
    found = [(finding, candidate) for finding in report.findings for candidate in _candidate(case, finding)]
    patch, held = joined(query.parallel, [candidate.patch for _, candidate in found])
    if not found or not all(held):
        return ()
    plan = apply(query.parallel, patch)
    try:
        proved = verified(replace(query, parallel=plan)).verdict is Verdict.PROVED
    except VerdictError:
        proved = False
    if not proved:
        return ()
    end = "every obligation holds" if len(found) == 1 else "with the other repairs every obligation holds"
    return tuple(
        Repair((finding.code,), f"{candidate.sentence}: {end}", plan, True, (finding,)) for finding, candidate in found
    )


def _candidate(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The corrections of a finding as one; none where some cannot be said of nodes."""
    evidence = [one for one in (finding.evidence, *finding.also) if isinstance(one, Fault)]
    edits = [edit for one in evidence for edit in one.edits]
    if not edits or not all(one.edits for one in evidence):
        return
    patches = [_patch(case, edit) for edit in edits]
    known = [patch for patch in patches if patch is not None]
    patch, held = joined(case.plan, known)
    if len(known) == len(patches) and all(held):
        sentences = list(dict.fromkeys(map(_sentence, edits)))
        more = f" and {len(sentences) - MOST_NAMED} more" if len(sentences) > MOST_NAMED else ""
        yield Candidate("; ".join(sentences[:MOST_NAMED]) + more, patch)


def _patch(case: Case, edit: Edit) -> Patch | None:
    """The plan's nodes as a correction has them; None where they are not there."""
    sites = [_site(case, node) for node in edit.nodes]
    there = [site for site in sites if site is not None]
    if len(there) < len(sites):
        return None
    match edit:
        case Dropped(read=read):
            return Patch(instead={site: (_copy(node_at(case.plan, site), read),) for site in there})
        case Wired(position=position, sources=sources):
            return _wired(case, there, position, sources)
        case Given(attrs=attrs):
            return Patch(instead={site: (with_attrs(node_at(case.plan, site), **dict(attrs)),) for site in there})
        case Reduced(output=output, how=how):
            ranks = tuple(node.device for node in edit.nodes)
            return _behind(case, there, output, (("all_reduce", (("ranks", ranks), ("reduce", how))),))
        case Added(output=output, sources=sources):
            return _added(case, there, output, sources)
        case Multiplied(output=output, factor=factor):
            return _behind(case, there, output, multiplied_by(factor))


def _site(case: Case, node: NodeAt) -> Site | None:
    sites = case.named_nodes(node.device, node.op, node.name)
    return sites[node.before] if node.before < len(sites) else None


def _copy(node: Node, read: int) -> Node:
    return Node(COPY, node.inputs[read : read + 1], node.outputs, (), node.name)


def _wired(case: Case, sites: list[Site], position: int, sources: Sequence[tuple[NodeAt, int]]) -> Patch | None:
    """Nodes that read other tensors of their devices."""
    instead: dict[Site, tuple[Node, ...]] = {}
    for site, (source, output) in zip(sites, sources, strict=True):
        maker, node = _site(case, source), node_at(case.plan, site)
        if maker is None or maker.segment != site.segment or maker.at >= site.at or position >= len(node.inputs):
            return None
        inputs = list(node.inputs)
        inputs[position] = node_at(case.plan, maker).outputs[output]
        instead[site] = (node._replace(inputs=tuple(inputs)),)
    return Patch(instead=instead)


def _behind(case: Case, sites: list[Site], output: int, calls: Sequence[tuple[str, Attrs]]) -> Patch | None:
    """Operators of one input behind an output of nodes, which keeps its number; what they read gets new ones."""
    tensors: list[Tensor] = []
    instead: dict[Site, tuple[Node, ...]] = {}
    for site in sites:
        node = node_at(case.plan, site)
        if output >= len(node.outputs) or site in instead:
            return None
        kept = node.outputs[output]
        names = [len(case.plan.tensors) + len(tensors) + k for k in range(len(calls))]
        tensors.extend(case.plan.tensors[kept] for _ in names)
        made = [
            Node(op, (read,), (wrote,), attrs, node.name)
            for (op, attrs), read, wrote in zip(calls, names, (*names[1:], kept), strict=True)
        ]
        instead[site] = (with_output(node, kept, names[0]), *made)
    return Patch(instead=instead, tensors=tuple(tensors))


def _added(case: Case, sites: list[Site], output: int, sources: Sequence[tuple[NodeAt, int]]) -> Patch | None:
    """Outputs of nodes with something added, as soon as both are there. Each keeps its number."""
    instead: dict[Site, tuple[Node, ...]] = {}
    behind: dict[Site, tuple[Node, ...]] = {}
    tensors: list[Tensor] = []
    for site, (source, other) in zip(sites, sources, strict=True):
        maker, node = _site(case, source), node_at(case.plan, site)
        if maker is None or maker.segment != site.segment or output >= len(node.outputs) or site in instead:
            return None
        fresh, kept = len(case.plan.tensors) + len(tensors), node.outputs[output]
        tensors.append(case.plan.tensors[kept])
        instead[site] = (with_output(node, kept, fresh),)
        sum_of = Node(SUM, (fresh, node_at(case.plan, maker).outputs[other]), (kept,), (), node.name)
        behind[max(site, maker)] = (sum_of,)
    return Patch(instead=instead, behind=behind, tensors=tuple(tensors))


def _named(node: NodeAt) -> str:
    return in_short(node.name) if cited_in(node.name) else f"{node.op} {node.name}"


def _sentence(edit: Edit) -> str:
    """A correction in words: what it makes of the first of its nodes."""
    node = _named(edit.nodes[0])
    match edit:
        case Dropped(read=read):
            ranks = ranks_in_words(tuple(sorted({one.device for one in edit.nodes})))
            return f"no {node} on {ranks}" + (f", which hands on input {read}" if read else "")
        case Given(attrs=attrs):
            told = ", ".join(f"{name}={value!r}" for name, value in attrs)
            return f"{told} in {node}"
        case Wired(position=position, sources=sources):
            return f"{node} reads what {_named(sources[0][0])} makes as input {position}"
        case Reduced(how=how):
            return f"all_reduce({how}) over {ranks_in_words(tuple(one.device for one in edit.nodes))} behind {node}"
        case Added(sources=sources):
            return f"{node} plus what {_named(sources[0][0])} makes"
        case Multiplied(factor=factor):
            return f"{node} times {factor}"
