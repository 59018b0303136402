"""The results that are not what they must be: losses and final gradients."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from verdict.diagnose.case import END, Case
from verdict.diagnose.cause import holders
from verdict.diagnose.modules import module_of
from verdict.diagnose.scene import Scene
from verdict.graph import ABSENT
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
        title, notes, kind = finding.title, finding.notes, finding.kind
        if about.value is not None and about.expected:
            again = difference(about.value, about.expected, about.region, scene.bases, about.shard)
            title, kind = (again.text, again.kind) if again is not None else (title, kind)
            notes = (*notes, *_spread(scene, about))
        weight = _weight(scene, device, tensor)
        found = replace(
            finding,
            title=title,
            notes=notes,
            ranks=(device,),
            modules=(module_of(weight),) if weight else (),
            single=tuple(scene.single_line(k) for k in _makers(scene, about)),
            parallel=_lines(scene, device, tensor),
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


def _weight(scene: Scene, device: int, tensor: int) -> str:
    found = (held.weight for held in scene.parallel.gradients if (held.device, held.tensor) == (device, tensor))
    weight = next(found, ABSENT)
    return scene.name(weight) if weight != ABSENT else ""


def _makers(scene: Scene, about: Evidence) -> tuple[int, ...]:
    return tuple(dict.fromkeys(node for base in about.expected[:3] if (node := scene.bases[base].node) != ABSENT))


def _lines(scene: Scene, device: int, tensor: int) -> tuple[str, ...]:
    source = scene.made(device, tensor)
    return scene.parallel_lines([(device, source.node)]) if source is not None else ()
