"""The results that are not what they must be: losses and final gradients."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose.case import END, Case, group_kind
from verdict.diagnose.cause import SUMMING, holders
from verdict.diagnose.modules import module_of
from verdict.diagnose.scene import Scene, hands_on
from verdict.graph import ABSENT, Node
from verdict.graph.lockstep import COMMUNICATION, attribute
from verdict.lineage import Evidence
from verdict.lineage.compare import are_parts, difference
from verdict.lineage.values import Label
from verdict.outcome import Finding
from verdict.words import ranks_text


def end_cases(scene: Scene, findings: Sequence[Finding]) -> Iterator[Case]:
    """One case for each finding about a result. Those of one kind have one key."""
    for finding in findings:
        about = finding.evidence
        if not isinstance(about, Evidence) or about.partner != ABSENT:
            op = about.places[0].op if isinstance(about, Evidence) else ""
            yield Case(finding, (finding.code, finding.kind), (END, 0), op=op)
            continue
        tensor, device = about.tensors[0], about.places[0].device
        bases = frozenset(share.base for share in about.value or ()) | frozenset(about.expected)
        title, notes, kind, where = finding.title, finding.notes, finding.kind, finding.where
        if about.value is not None and about.expected:
            again = difference(about.value, about.expected, about.region, scene.bases, about.shard)
            title, kind = (again.text, again.kind) if again is not None else (title, kind)
            notes = (*notes, *_spread(scene, about))
        code, began = finding.code, _began(scene, device, about)
        if began is not None:
            notes = (f"{where}: {title}", *notes)
            narrow = _narrow(scene, device, began, about)
            title = _unsummed(scene, began, device, about)
            if narrow is not None:
                code, began, title = "wrong-group", narrow, _narrowly(scene, narrow, device, about)
            where = f"{began.op} {began.name} on rank {device}"
            kind = group_kind(began, device) or (kind, began.op, began.name)
        weight = _weight(scene, device, tensor)
        found = replace(
            finding,
            code=code,
            title=title,
            where=where,
            notes=notes,
            ranks=(device,),
            modules=(module_of(weight),) if weight else (),
            single=tuple(scene.single_line(k) for k in _makers(scene, about)),
            parallel=_lines(scene, device, tensor) if began is None else scene.parallel_lines([(device, began)]),
        )
        logical = scene.parallel.tensors[tensor].logical if tensor != ABSENT else ABSENT
        first = min((scene.bases[base].node for base in about.expected), default=0)
        yield Case(found, (code, kind), (END, first), bases, frozenset({logical}))


def _spread(scene: Scene, about: Evidence) -> tuple[str, ...]:
    share = next((share for share in about.value or () if share.part), None)
    if share is None:
        return ()
    ranks = ", ".join(map(str, holders(scene, share, share.part[0][0])))
    return (f"the other parts are on ranks {ranks}",)


def _began(scene: Scene, device: int, about: Evidence) -> Node | None:
    """The node that made the part of a sum of which a result is made, or added such parts up, where others stand
    between the two.
    """
    label = _summed(about)
    if label is None or label.node in _makers(scene, about):
        return None
    for tensor, source in scene.sources[device].items():
        value = scene.held(device, tensor) or ()
        if are_parts(value, label, scene.bases) and source.node.op not in COMMUNICATION:
            return source.node
    return None


def _summed(about: Evidence) -> Label | None:
    """The axis of which a result has a part."""
    return next((label for share in about.value or () for label, _ in share.part), None)


def _unsummed(scene: Scene, began: Node, device: int, about: Evidence) -> str:
    made = next(scene.name(tensor) for tensor in began.outputs if tensor != ABSENT)
    over = ranks_text(_over(scene, about))
    return f"{made} is a part of a sum on rank {device}, and gradients are made of it before it is summed over {over}"


def _narrow(scene: Scene, device: int, began: Node, about: Evidence) -> Node | None:
    """The collective that sums what a node made, or a copy of it, over other ranks than those that hold the parts."""
    label, made = _summed(about), set(began.outputs)
    made = {t for t in made if label is not None and are_parts(scene.held(device, t) or (), label, scene.bases)}
    for source in scene.sources[device].values():
        if not made & set(source.node.inputs) or attribute(source.node, "replicas"):
            continue
        if source.node.op in SUMMING:
            return source.node if set(attribute(source.node, "ranks")) != set(_over(scene, about)) else None
        made |= set(source.node.outputs) if hands_on(source.node) else set()
    return None


def _over(scene: Scene, about: Evidence) -> tuple[int, ...]:
    """The ranks that hold the parts of which a result has one."""
    share = next(share for share in about.value or () if share.part)
    return holders(scene, share, share.part[0][0])


def _narrowly(scene: Scene, node: Node, device: int, about: Evidence) -> str:
    parts, ranks = ranks_text(_over(scene, about)), ranks_text(tuple(attribute(node, "ranks")))
    name = scene.name(node.inputs[0])
    return f"{node.op} {node.name} on rank {device} sums over {ranks}; the parts of {name} are on {parts}"


def _weight(scene: Scene, device: int, tensor: int) -> str:
    found = (held.weight for held in scene.parallel.gradients if (held.device, held.tensor) == (device, tensor))
    weight = next(found, ABSENT)
    return scene.name(weight) if weight != ABSENT else ""


def _makers(scene: Scene, about: Evidence) -> tuple[int, ...]:
    return tuple(dict.fromkeys(node for base in about.expected[:3] if (node := scene.bases[base].node) != ABSENT))


def _lines(scene: Scene, device: int, tensor: int) -> tuple[str, ...]:
    source = scene.made(device, tensor)
    return scene.parallel_lines([(device, source.node)]) if source is not None else ()
