"""The results that are not what they must be: losses and final gradients."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose.case import END, Case
from verdict.diagnose.cause import holders
from verdict.diagnose.modules import module_of
from verdict.diagnose.scene import Scene
from verdict.graph import ABSENT, Node
from verdict.graph.lockstep import COMMUNICATION
from verdict.lineage import Evidence
from verdict.lineage.compare import difference
from verdict.outcome import Finding


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
        began = _began(scene, device, about)
        if began is not None:
            notes = (f"{where}: {title}; to sum that mends the same", *notes)
            title, where = _unsummed(scene, began, device), f"{began.op} {began.name} on rank {device}"
            kind = (kind, began.op, began.name)
        weight = _weight(scene, device, tensor)
        found = replace(
            finding,
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
        yield Case(found, (finding.code, kind), (END, first), bases, frozenset({logical}))


def _spread(scene: Scene, about: Evidence) -> tuple[str, ...]:
    share = next((share for share in about.value or () if share.part), None)
    if share is None:
        return ()
    ranks = ", ".join(map(str, holders(scene, share, share.part[0][0])))
    return (f"the other parts are on ranks {ranks}",)


def _began(scene: Scene, device: int, about: Evidence) -> Node | None:
    """The node that made the part of a sum of which a result is made, where others stand between the two."""
    label = next((label for share in about.value or () for label, _ in share.part), None)
    if label is None or label.node in _makers(scene, about):
        return None
    for tensor, source in scene.sources[device].items():
        value = scene.held(device, tensor) or ()
        ours = any(scene.bases[share.base].node == label.node and label in dict(share.part) for share in value)
        if ours and source.node.op not in COMMUNICATION:
            return source.node
    return None


def _unsummed(scene: Scene, began: Node, device: int) -> str:
    made = next(scene.name(tensor) for tensor in began.outputs if tensor != ABSENT)
    return f"{made} is a part of a sum on rank {device}, and gradients are made of it before it is summed"


def _weight(scene: Scene, device: int, tensor: int) -> str:
    found = (held.weight for held in scene.parallel.gradients if (held.device, held.tensor) == (device, tensor))
    weight = next(found, ABSENT)
    return scene.name(weight) if weight != ABSENT else ""


def _makers(scene: Scene, about: Evidence) -> tuple[int, ...]:
    return tuple(dict.fromkeys(node for base in about.expected[:3] if (node := scene.bases[base].node) != ABSENT))


def _lines(scene: Scene, device: int, tensor: int) -> tuple[str, ...]:
    source = scene.made(device, tensor)
    return scene.parallel_lines([(device, source.node)]) if source is not None else ()
