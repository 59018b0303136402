"""Which node is to blame for what another one reads: traced back over copies, messages and collectives."""

from typing import NamedTuple

from verdict.diagnose.scene import (
    Scene,
    Source,
    hands_on,
    misdelivered,
    misdelivery,
    show_share,
)
from verdict.graph import ABSENT, spelled
from verdict.graph.lockstep import CHUNK, COLLECTIVES, RECV, attribute
from verdict.lineage import Evidence, Shard, Share, Value
from verdict.lineage.compare import difference
from verdict.lineage.values import Label
from verdict.ops import FACTS
from verdict.outcome import Finding
from verdict.words import ranks_text

SUMMING = frozenset({"all_reduce", "reduce_scatter", "reduce"})


class Cause(NamedTuple):
    """What is to blame, in words. device, source: the node, where it is another one than the one that reads."""

    code: str
    title: str
    notes: tuple[str, ...] = ()
    help: str = ""
    device: int = ABSENT
    source: Source | None = None


def cause_of(scene: Scene, finding: Finding, about: Evidence) -> Cause:
    place, tensor = about.places[0], about.tensors[0]
    source = scene.made(place.device, tensor) if tensor != ABSENT else None
    if finding.code == "missing-reduction" and about.value:
        return _unreduced(scene, about, source)
    if finding.code == "reduced-twice" and about.value:
        return _twice(scene, about, source)
    if finding.code in ("wrong-order", "wrong-group"):
        return _order(scene, finding, about)
    source = _before_gathering(scene, place.device, source)
    if source is not None and misdelivered(scene, source):
        help_text = "receive in the order in which the peer sends"
        title = misdelivery(scene, place.device, source)
        return Cause("wrong-order", title, (), help_text, place.device, source)
    left_out = _left_out(scene, about) if finding.code == "wrong-input" else None
    if left_out is not None:
        what, due = scene.sum_of([share.base for share in about.value or ()]), scene.sum_of(about.expected)
        does = "hands on" if hands_on(left_out.node) else "makes"
        title = f"{left_out.node.op} {left_out.node.name} {does} {what}, expected {due}"
        return Cause(finding.code, title, _wanted(scene, about), "", place.device, left_out)
    if about.value is not None and about.expected:
        again = difference(about.value, about.expected, about.region, scene.bases, about.shard)
        title = again.text if again is not None else finding.title
        return Cause(finding.code, title, (*_wanted(scene, about), *_instead(scene, about)))
    return Cause(finding.code, finding.title, finding.notes)


def _before_gathering(scene: Scene, device: int, source: Source | None) -> Source | None:
    """Where the piece comes from that this rank puts into an all_gather."""
    if source is not None and source.node.op == "all_gather":
        return scene.made(device, source.node.inputs[0])
    return source


def _left_out(scene: Scene, about: Evidence) -> Source | None:
    """The copy, or the collective, of what is called otherwise that is called as what is due: an operator is left out
    there, or comes too early.
    """
    due = {scene.bases[base].name for base in about.expected}
    sources = scene.sources[about.places[0].device]
    source = sources.get(about.tensors[0])
    while source is not None and (hands_on(source.node) or source.node.op in COLLECTIVES):
        (read, *_), (made, *_) = source.node.inputs, source.node.outputs
        if scene.name(read) not in due and scene.name(made) in due:
            return source
        source = sources.get(read) if read != made else None
    return None


def _wanted(scene: Scene, about: Evidence) -> tuple[str, ...]:
    if about.tensors[0] == ABSENT:
        return ()
    name, due = scene.name(about.tensors[0]), scene.sum_of(about.expected)
    return (f"what {about.places[0].op} reads as {name} must be {due}",) if name != due else ()


def _instead(scene: Scene, about: Evidence) -> tuple[str, ...]:
    """Which tensor of the same rank holds what is due."""
    due = tuple(Share(base, about.region, shard=about.shard) for base in about.expected)
    device = about.places[0].device
    if not scene.walks or not due:
        return ()
    found = [t for t, value in scene.walks[0].held[device].items() if value == due and t not in about.tensors]
    return tuple(f"rank {device} holds that as {scene.name(t)} (tensor {t})" for t in found[:1])


def holds(scene: Scene, value: Value | None) -> str:
    return " + ".join(show_share(scene, share) for share in value or ()) or "nothing"


def _unreduced(scene: Scene, about: Evidence, source: Source | None) -> Cause:
    """A part of a sum that is read as if it were the sum."""
    place = about.places[0]
    share = next((share for share in about.value or () if share.part), None)
    if share is None:
        return Cause("missing-reduction", f"{scene.sum_of(about.expected)} is not summed")
    label, (start, stop) = share.part[0]
    group = holders(scene, share, label)
    partial = sum(bool(share.part) for share in about.value or ())
    name = scene.bases[share.base].name if partial == 1 else f"{scene.name(about.tensors[0])} ({partial} terms)"
    readers = ranks_text(sorted({place.device for place in about.places}))
    part = f"rank {place.device} holds the part {start}:{stop} of the sum over {label.size} (index axis {label.atom})"
    if isinstance(share.shard, Shard) and share.shard.label is not None:
        title = f"{name} is read on {readers} before it is summed over the replicas"
        return Cause("missing-reduction", title, (f"{part}, each next replica the next part",), "", ABSENT, source)
    if source is not None and source.node.op in COLLECTIVES:
        ranks = tuple(attribute(source.node, "ranks"))
        called = f"{source.node.op} {source.node.name} on rank {place.device}"
        if source.node.op in SUMMING and set(ranks) != set(group):
            title = f"{called} sums over {ranks_text(ranks)}; the parts of {name} are on {ranks_text(group)}"
            return Cause("wrong-group", title, (part,), "", place.device, source)
        if source.node.op not in SUMMING:
            title = f"{called} hands on a part of {name}; a sum over {ranks_text(group)} is due"
            return Cause("wrong-collective", title, (part,), "", place.device, source)
    title = f"{name} is read on {readers} before it is summed over {ranks_text(group)}"
    return Cause("missing-reduction", title, (part,), "", place.device if source else ABSENT, source)


def holders(scene: Scene, share: Share, label: Label) -> tuple[int, ...]:
    """The ranks that hold the parts of one sum: for each part the one that has it first, if the share's own has not."""
    found: dict[tuple[int, int], list[int]] = {}
    for device, held in enumerate(scene.walks[0].held):
        for value in held.values():
            for other in value or ():
                if other.base == share.base and other.region == share.region:
                    for known, interval in other.part:
                        if known == label:
                            found.setdefault(interval, []).append(device)
    return tuple(sorted({ranks[0] for ranks in found.values()}))


def _twice(scene: Scene, about: Evidence, source: Source | None) -> Cause:
    """A summand that is counted more than once."""
    place = about.places[0]
    again = difference(about.value or (), about.expected, about.region, scene.bases, about.shard)
    title = again.text if again is not None else "a summand is counted more than once"
    source = _doubling(scene, place.device, source)
    if source is None:
        return Cause("reduced-twice", title)
    node = source.node
    summands = FACTS.addends(node.op, node.inputs, len(node.outputs)) or ()
    if len(summands) > 1:
        double = sorted({tensor for tensor in summands if summands.count(tensor) > 1})
        for tensor in double:
            inputs = ", ".join(str(k) for k, other in enumerate(summands) if other == tensor)
            title = f"{node.op} {node.name} adds one gradient {summands.count(tensor)} times (inputs {inputs})"
            held = holds(scene, scene.held(place.device, tensor))
            return Cause("reduced-twice", title, (f"that is {held}",), "", place.device, source)
    if node.op in SUMMING:
        ranks = tuple(attribute(node, "ranks"))
        title = f"{node.op} {node.name} sums over {ranks_text(ranks)} what each of them holds whole"
        return Cause("reduced-twice", title, (again.text,) if again else (), "", place.device, source)
    return Cause("reduced-twice", title, (), "", place.device, source)


def _doubling(scene: Scene, device: int, source: Source | None) -> Source | None:
    """The node that counts a summand twice: sums over ranks hand on what a rank has put in twice already."""
    while source is not None and source.node.op in SUMMING:
        before = scene.held(device, source.node.inputs[0])
        if not before or len(set(before)) == len(before):
            return source
        source = scene.made(device, source.node.inputs[0])
    return source


def _order(scene: Scene, finding: Finding, about: Evidence) -> Cause:
    """Pieces that do not fit: from crossed peers, or cut by a group that has another order than the plan states."""
    place = about.places[0]
    node = scene.node_at(place, about.tensors[0])
    ranks = tuple(attribute(node, "ranks") or ()) if node is not None else ()
    joined = f"the {place.op} on {ranks_text(ranks)} joins it: {finding.title}"
    for rank in ranks:
        gathers = [n for n in scene.nodes.get((rank, place.op, place.name), ()) if attribute(n, "ranks") == ranks]
        for tensor in (n.inputs[0] for n in gathers):
            found = _piece(scene, rank, tensor)
            if found is None or (found.code == "wrong-order" and finding.code == "wrong-order"):
                continue
            return found._replace(notes=(*found.notes, joined))
    return Cause(finding.code, finding.title, finding.notes, finding.help)


def _piece(scene: Scene, device: int, tensor: int) -> Cause | None:
    """Why a piece is not the region that it is stated to be: whence it was received, or how it was cut."""
    source = scene.made(device, tensor)
    if source is None:
        return None
    stated = scene.region(source.node.outputs[0])
    if source.node.op == CHUNK:
        value = scene.held(device, source.node.outputs[0])
        if not value or value[0].region == stated:
            return None
        ranks = list(attribute(source.node, "ranks"))
        title = (
            f"chunk {source.node.name} on rank {device} takes {spelled(value[0].region)} by its position in the "
            f"group {ranks}, it states {spelled(stated)}"
        )
        help_text = "let every rank cut the piece of its place in the group, and send it to the rank of that place"
        return Cause("wrong-order", title, (), help_text, device, source)
    if source.node.op != RECV or source.sent == ABSENT:
        return None
    sent = scene.region(source.sent)
    if stated == sent:
        return _piece(scene, source.sender, source.sent)
    title = (
        f"rank {device} receives {scene.name(source.sent)}{spelled(sent)} from rank {source.sender}, "
        f"it expects {spelled(stated)}"
    )
    help_text = "exchange the peers, so that each rank receives the region that it expects"
    return Cause("wrong-peer", title, (), help_text, device, source)
