"""What nodes read that they should not: the walk's divergences, traced back to the node that is to blame.

A value that is not complete was handed on by something: by a collective of the wrong kind or group, by a receive
from the wrong peer, by a sum that adds a term twice; or by nothing at all, where a collective is missing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose.case import WALK, Case, group_kind
from verdict.diagnose.cause import Cause, cause_of, holds
from verdict.diagnose.scene import (
    Scene,
)
from verdict.graph import ABSENT, Node
from verdict.graph.lockstep import attribute
from verdict.lineage import Evidence
from verdict.outcome import Finding
from verdict.words import ranks_text


def walk_cases(scene: Scene) -> Iterator[Case]:
    """One case for each divergence of the walks; inputs that are exchanged are one."""
    cases = [
        (finding, _from_the_lowest_rank(scene, finding.evidence))
        for walk in scene.walks
        for finding in walk.findings
        if isinstance(finding.evidence, Evidence)
    ]
    done: set[int] = set()
    for k, (finding, about) in enumerate(cases):
        if k in done:
            continue
        other = next((j for j in range(k + 1, len(cases)) if _exchanged(about, cases[j][1])), None)
        if other is not None:
            done.add(other)
            yield _case(scene, finding, about, _exchange(scene, about, cases[other][1]))
        else:
            yield _case(scene, finding, about, cause_of(scene, finding, about))


def _from_the_lowest_rank(scene: Scene, about: Evidence) -> Evidence:
    """The evidence with the place on the lowest rank first, where it is known what is held there."""
    pairs = sorted(zip(about.places, about.tensors, strict=True), key=lambda pair: pair[0].device)
    place, tensor = pairs[0]
    value = scene.held(place.device, tensor) if about.value is not None and about.partner != ABSENT else None
    if place == about.places[0] or value is None or len(about.places) != len(about.tensors):
        return about
    return about._replace(
        places=tuple(place for place, _ in pairs), tensors=tuple(tensor for _, tensor in pairs), value=value
    )


def _case(scene: Scene, finding: Finding, about: Evidence, cause: Cause) -> Case:
    place, tensor = about.places[0], about.tensors[0]
    node = scene.node_at(place, tensor)
    partner = about.partner if about.partner != ABSENT else _node_of(scene, about)
    nodes = [
        (p.device, reader)
        for p, t in zip(about.places, about.tensors, strict=True)
        if (reader := scene.node_at(p, t)) is not None
    ]
    where, culprit = place.spelled, cause.source
    if culprit is not None and culprit.node is not node:
        nodes = [(cause.device, culprit.node), *nodes]
        where = f"{culprit.node.op} {culprit.node.name} on rank {cause.device}"
    bases = frozenset(share.base for share in about.value or ()) ^ frozenset(about.expected)
    due = frozenset(about.expected)
    if about.partner != ABSENT:
        due |= frozenset(base for base in scene.reference.partners[about.partner].outputs if base != ABSENT)
    found = replace(
        finding,
        evidence=about,
        code=cause.code,
        title=cause.title,
        where=where,
        notes=cause.notes,
        help=cause.help or finding.help,
        ranks=_ranks(about, nodes, cause),
        modules=_modules(scene, about, partner),
        single=tuple(scene.single_line(k) for k in _single_nodes(scene, about)),
        parallel=scene.parallel_lines(nodes),
    )
    key: tuple[object, ...] = (cause.code, scene.alike(partner), place.op, () if partner != ABSENT else finding.kind)
    if cause.code in ("wrong-order", "wrong-peer"):
        key = (cause.code, cause.source.node.op if cause.source is not None else place.op)
    if cause.code == "wrong-group" and culprit is not None and group_kind(culprit.node, cause.device):
        key = (cause.code, group_kind(culprit.node, cause.device))
    tensors = frozenset(scene.parallel.tensors[t].logical for t in about.tensors if t != ABSENT)
    names = {place.name for place in about.places} | ({culprit.node.name} if culprit is not None else set())
    op = place.op if culprit is None or culprit.node is node else culprit.node.op
    return Case(found, key, (WALK, max(partner, 0)), bases | due, tensors, frozenset(names), op=op)


def _ranks(about: Evidence, nodes: Sequence[tuple[int, Node]], cause: Cause) -> tuple[int, ...]:
    """The ranks at which it shows: of a collective that joins pieces, all members."""
    joined = {rank for _, node in nodes if node.op == "all_gather" for rank in attribute(node, "ranks")}
    return tuple(sorted({place.device for place in about.places} | joined | ({cause.device} - {ABSENT})))


def _modules(scene: Scene, about: Evidence, partner: int) -> tuple[str, ...]:
    """The parts of the model in which it shows: of the reading node, or of what each tensor holds."""
    if about.partner != ABSENT:
        return (scene.module(partner),)
    found = dict.fromkeys([scene.module(partner)])
    for place, tensor in zip(about.places, about.tensors, strict=False):
        for share in scene.held(place.device, tensor) or ():
            found[scene.module(scene.bases[share.base].node)] = None
    return tuple(name for name in found if name)


def _node_of(scene: Scene, about: Evidence) -> int:
    bases = [*about.expected, *(share.base for share in about.value or ())]
    return next((scene.bases[base].node for base in bases), ABSENT)


def _single_nodes(scene: Scene, about: Evidence) -> tuple[int, ...]:
    """The nodes that make what is due, and the one that reads it."""
    made = (scene.bases[base].node for base in about.expected[:2])
    return tuple(dict.fromkeys(k for k in (*made, about.partner) if k != ABSENT))


def _exchanged(one: Evidence, two: Evidence) -> bool:
    """Whether two inputs of one node each hold what the other should."""
    if one.places[:1] != two.places[:1] or one.partner != two.partner or one.partner == ABSENT:
        return False
    held = [tuple(share.base for share in about.value or ()) for about in (one, two)]
    return held[0] == two.expected and held[1] == one.expected and held[0] != held[1]


def _exchange(scene: Scene, one: Evidence, two: Evidence) -> Cause:
    place = one.places[0]
    node = scene.node_at(place, one.tensors[0])
    inputs = node.inputs if node else ()
    numbers = [inputs.index(about.tensors[0]) if about.tensors[0] in inputs else -1 for about in (one, two)]
    first, second = sorted(numbers)
    title = f"inputs {first} and {second} of {place.op} are exchanged on {ranks_text([place.device])}"
    lower, upper = (one, two) if numbers[0] < numbers[1] else (two, one)
    notes = tuple(
        f"input {number} must be {scene.sum_of(about.expected)}, and is {holds(scene, about.value)}"
        for number, about in ((first, lower), (second, upper))
    )
    return Cause("wrong-input", title, notes, f"exchange inputs {first} and {second}")
