"""What a diagnosis looks at: both plans, what was walked and asked, and the words for nodes and tensors."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from verdict.diagnose.modules import Modules, modules_of
from verdict.graph import ABSENT, Node, Place, Plan, Region, spelled
from verdict.graph.lockstep import RECV, SEND, attribute
from verdict.lineage import Lineages, Reference, Share, Value
from verdict.lineage.reference import Base
from verdict.ops import FACTS
from verdict.outcome import Outcome
from verdict.stage import Cut
from verdict.words import ranks_text

_HIDDEN = frozenset({"channel"})


class Source(NamedTuple):
    """Where a tensor of a device comes from: the node that writes it; for a receive, who sent which tensor."""

    node: Node
    sender: int = ABSENT
    sent: int = ABSENT


@dataclass(frozen=True, slots=True)
class Scene:
    """bases: those of the reference, with names that tell them apart. sources: by device, for each tensor.

    nodes: by (device, operator, name), the nodes that a place can mean.
    """

    single: Plan
    parallel: Plan
    reference: Reference
    walks: tuple[Lineages, ...]
    stages: Cut
    outcomes: tuple[Outcome, ...]
    exhaustive: bool
    modules: Modules
    bases: tuple[Base, ...]
    sources: tuple[Mapping[int, Source], ...]
    nodes: Mapping[tuple[int, str, str], tuple[Node, ...]]

    def name(self, tensor: int) -> str:
        """The name of a tensor of the parallel plan."""
        return self.parallel.logicals[self.parallel.tensors[tensor].logical].name if tensor != ABSENT else "nothing"

    def region(self, tensor: int) -> Region:
        """The region that the parallel plan states for a tensor."""
        return self.parallel.tensors[tensor].region

    def module(self, partner: int) -> str:
        """The part of the model of a single-device node, "" where nothing tells."""
        return self.modules.names[partner] if partner != ABSENT else ""

    def alike(self, partner: int) -> tuple[object, ...]:
        """A label that the nodes at the same spot of other layers have too."""
        return self.modules.alike[partner] if partner != ABSENT else ()

    def sum_of(self, value: Sequence[int]) -> str:
        """A formal sum of bases in words."""
        return " + ".join(self.bases[base].name for base in value) or "nothing"

    def node_at(self, place: Place, tensor: int = ABSENT) -> Node | None:
        """The node that a place means; where several have its name, the one that touches `tensor`."""
        found = self.nodes.get((place.device, place.op, place.name), ())
        touching = [node for node in found if tensor in node.inputs or tensor in node.outputs]
        return next(iter(touching or found), None)

    def made(self, device: int, tensor: int) -> Source | None:
        """Where a tensor comes from, copies on the same device left out; an accumulator may be a copy of itself."""
        source = self.sources[device].get(tensor)
        passed = {tensor}
        while source is not None and hands_on(source.node) and source.node.inputs[0] not in passed:
            passed.add(source.node.inputs[0])
            before = self.sources[device].get(source.node.inputs[0])
            if before is None:
                break
            source = before
        return source

    def held(self, device: int, tensor: int) -> Value | None:
        """What a tensor holds in the first walked column; None where that is not known."""
        return self.walks[0].held[device].get(tensor) if self.walks else None

    def single_line(self, partner: int) -> str:
        """A single-device node in one line."""
        return line(self.single, self.reference.partners[partner].node)

    def parallel_lines(self, nodes: Sequence[tuple[int, Node]]) -> tuple[str, ...]:
        """Parallel nodes, one line for all ranks that have the same."""
        ranks: dict[str, set[int]] = defaultdict(set)
        for device, node in nodes:
            ranks[line(self.parallel, node)].add(device)
        return tuple(f"{ranks_text(sorted(found))}: {text}" for text, found in ranks.items())


def scene_of(
    single: Plan,
    parallel: Plan,
    walks: Sequence[Lineages],
    stages: Cut,
    outcomes: Sequence[Outcome],
    exhaustive: bool,
) -> Scene:
    """The scene of a diagnosis. Some walk there must be."""
    reference = walks[0].reference
    nodes: dict[tuple[int, str, str], list[Node]] = defaultdict(list)
    for segment in parallel.segments:
        for node in segment.nodes:
            nodes[segment.device, node.op, node.name].append(node)
    return Scene(
        single, parallel, reference, tuple(walks), stages, tuple(outcomes), exhaustive,
        modules_of(reference), _told_apart(reference), _sources(parallel),
        {key: tuple(found) for key, found in nodes.items()},
    )  # fmt: skip


def misdelivered(scene: Scene, source: Source) -> bool:
    """Whether a receive gets another logical tensor than it states."""
    if source.node.op != RECV or source.sent == ABSENT:
        return False
    tensors = scene.parallel.tensors
    return tensors[source.sent].logical != tensors[source.node.outputs[0]].logical


def misdelivery(scene: Scene, device: int, source: Source) -> str:
    """What such a receive gets, in words."""
    return (
        f"rank {device} receives {scene.name(source.sent)} from rank {source.sender} where it expects "
        f"{scene.name(source.node.outputs[0])}"
    )


def line(plan: Plan, node: Node) -> str:
    """A node in one line: outputs with their regions, operator, inputs, attributes."""
    outputs = ", ".join(_tensor(plan, tensor, True) for tensor in node.outputs)
    inputs = ", ".join(_tensor(plan, tensor, not outputs) for tensor in node.inputs)
    attrs = " ".join(f"{name}={value!r}" for name, value in node.attrs if name not in _HIDDEN)
    return f"{outputs}{' = ' if outputs else ''}{node.op}({inputs}) {attrs}".rstrip()


def show_share(scene: Scene, share: Share) -> str:
    """A share in words."""
    part = "".join(f", summed over {start}:{stop} of {label.atom}" for label, (start, stop) in share.part)
    return f"{scene.bases[share.base].name}{spelled(share.region)}{part}"


def _tensor(plan: Plan, tensor: int, with_region: bool) -> str:
    if tensor == ABSENT:
        return "none"
    held = plan.tensors[tensor]
    return plan.logicals[held.logical].name + (spelled(held.region) if with_region else "")


def _told_apart(reference: Reference) -> tuple[Base, ...]:
    """The bases under names that tell apart all those that share one, the first of them too."""
    counts = Counter(base.logical for base in reference.bases)
    return tuple(
        base._replace(name=f"{base.logical} ({_origin(reference, base)})" if counts[base.logical] > 1 else base.logical)
        for base in reference.bases
    )


def _origin(reference: Reference, base: Base) -> str:
    if base.node < 0:
        return "given"
    partner = reference.partners[base.node]
    output = f"output {base.output} of " if len(partner.outputs) > 1 else "of "
    op, name = partner.node.op, partner.node.name
    return output + (name if name.startswith(op.removesuffix(".grad")) else f"{op} {name}")


def _sources(plan: Plan) -> tuple[dict[int, Source], ...]:
    """For every device and tensor the node that writes it; sends and receives are matched in program order."""
    sent: dict[tuple[int, int], list[int]] = defaultdict(list)
    for device, node in _communicating(plan, SEND):
        sent[device, attribute(node, "peer")].append(node.inputs[0])
    taken: Counter[tuple[int, int]] = Counter()
    found: list[dict[int, Source]] = [{} for _ in range(plan.devices)]
    for segment in plan.segments:
        for node in segment.nodes:
            for tensor in node.outputs:
                if tensor != ABSENT:
                    found[segment.device][tensor] = Source(node)
    for device, node in _communicating(plan, RECV):
        peer = attribute(node, "peer")
        queue, number = sent[peer, device], taken[peer, device]
        taken[peer, device] += 1
        if number < len(queue):
            found[device][node.outputs[0]] = Source(node, peer, queue[number])
    return tuple(found)


def _communicating(plan: Plan, op: str) -> list[tuple[int, Node]]:
    """The sends or receives of one run of every segment, device by device in the order of the programs."""
    found: list[tuple[int, Node]] = []
    for device, program in enumerate(plan.programs):
        seen: set[int] = set()
        for call in program:
            if call.segment not in seen:
                seen.add(call.segment)
                found.extend((device, node) for node in plan.segments[call.segment].nodes if node.op == op)
    return found


def hands_on(node: Node) -> bool:
    return FACTS.copies(node.op, len(node.inputs), len(node.outputs))
