"""Operators that compute something else than their partner: the attributes that the partner has.

All refuted stages are looked at together, with the forward operators and gradients on the same ranks.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from verdict.graph import GRAD, Attrs, Fault, Node, Place
from verdict.lineage import Evidence, Member, Signature
from verdict.lineage.meaning import base_op
from verdict.ops import FACTS
from verdict.outcome import Finding, Refuted
from verdict.phases import Examined
from verdict.repair.case import Candidate, Case, ranks_in_words
from verdict.repair.edits import Patch, Site, node_at
from verdict.stage import Members

SHOWN = 3
"""How many changes of attributes a sentence names; the rest is counted."""


class _Change(NamedTuple):
    """An attribute of nodes of one name: what it is, and what it should be."""

    op: str
    name: str
    attribute: str
    found: object
    due: object


def restore_attributes(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The attributes of the single-device nodes, where refuted stages have others."""
    about = finding.evidence
    if case.walk is None or (isinstance(about, Evidence) and about.value is not None):
        return
    partners = case.walk.reference.partners
    wrong = [(place, partners[partner].node.attrs) for partner, place in refuted(case.examined)]
    yield from _restored(case, wrong)


def attributes_of_namesake(case: Case, finding: Finding) -> Iterator[Candidate]:
    """The attributes of the single-device node of the same operator and name, where shapes do not fit."""
    about = finding.evidence
    if finding.code != "shape-mismatch" or not isinstance(about, Fault):
        return
    single = {
        (node.op, node.name): node.attrs for segment in case.single.segments for node in segment.nodes if node.attrs
    }
    yield from _restored(
        case,
        [(place, single[place.op, place.name]) for place in about.places if (place.op, place.name) in single],
    )


def _restored(case: Case, wrong: Iterable[tuple[Place, Attrs]]) -> Iterator[Candidate]:
    """One candidate: the operators at these places, forward and gradient, with these single-device attributes."""
    instead: dict[Site, tuple[Node, ...]] = {}
    changes: dict[_Change, set[int]] = {}
    for place, single in wrong:
        op, name = base_op(place.op), place.name.removesuffix(GRAD)
        for site in (
            *case.named_nodes(place.device, op, name),
            *case.named_nodes(place.device, op + GRAD, name),
            *case.named_nodes(place.device, op + GRAD, name + GRAD),
        ):
            node = node_at(case.plan, site)
            right = node._replace(attrs=_due(case, node, single))
            if right != node:
                instead[site] = (right,)
                for change in _changes(node, right):
                    changes.setdefault(change, set()).add(place.device)
    if instead:
        yield Candidate(_in_words(changes), Patch(instead=instead))


def refuted(examined: Examined) -> Iterator[tuple[int, Place]]:
    """The single-device node and the place of every parallel node that a refuted stage finds unlike its partner."""
    walk = examined.walks[0]
    wrong: dict[tuple[Signature, frozenset[Member]], set[Member]] = {}
    for stage, outcome in examined.outcomes.items():
        if isinstance(stage, Members) and isinstance(outcome, Refuted):
            found = {stage.members[number] for number in outcome.members}
            wrong[stage.signature, frozenset(stage.members)] = found
    for partner, members in walk.members.items() if wrong else ():
        signature = walk.reference.partners[partner].signature
        found = wrong.get((signature, frozenset(walk.distinct[number] for number in members)), set())
        for number, places in members.items():
            if walk.distinct[number] in found:
                for place in places:
                    yield partner, place


def _due(case: Case, node: Node, single: Attrs) -> Attrs:
    """The attributes that a node should have: the single-device ones, but for what is local to the rank."""
    own, rule = dict(node.attrs), FACTS.of(node.op)
    local = rule.local if rule is not None else frozenset()
    due = {name: value for name, value in single if name not in local}
    due |= {name: value for name, value in own.items() if name in local}
    rows = rule.rows if rule is not None else None
    if rows is not None and set(rows) <= own.keys():
        due |= dict(zip(rows, case.plan.tensors[node.inputs[-1]].region[0], strict=True))
    return tuple(sorted(due.items()))


def _changes(node: Node, right: Node) -> Iterator[_Change]:
    own, due = dict(node.attrs), dict(right.attrs)
    for name in sorted(own.keys() | due.keys()):
        if own.get(name) != due.get(name):
            yield _Change(base_op(node.op), node.name.removesuffix(GRAD), name, own.get(name), due.get(name))


def _in_words(changes: Mapping[_Change, set[int]]) -> str:
    texts = [
        f"{change.attribute} {change.due!r} instead of {change.found!r} in {change.op} {change.name} "
        f"on {ranks_in_words(tuple(sorted(ranks)))}"
        for change, ranks in changes.items()
    ]
    return ", ".join(texts[:SHOWN]) + (f", and {len(texts) - SHOWN} more" if texts[SHOWN:] else "")
