"""An island as a pair of plans: the single-device nodes between what is known and what is guessed, and the parallel
ones. Equal islands, as those of many layers, are equal pairs.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.graph import (
    ABSENT,
    ACTIVATION,
    COPY,
    INPUT,
    SUM,
    Attrs,
    Call,
    Held,
    Logical,
    Node,
    Plan,
    Region,
    Segment,
    Tensor,
    extent,
    whole,
)
from verdict.lineage import Partner, Reference
from verdict.lineage.guessing import CutPoint
from verdict.lineage.meaning import column_attrs
from verdict.lineage.transfer import Misfit, transfer
from verdict.residue.islands import Island
from verdict.stage import Members


class Pair(NamedTuple):
    """What the single-device plan computes of some of its values, and what devices compute of their regions of them,
    both on one column of the batch. nodes: what makes the single-device ones on one column what they are on all, if
    each of these is proved.
    """

    single: Plan
    parallel: Plan
    nodes: tuple[Members, ...] = ()


def pair_of(island: Island, table: Reference, plan: Plan, known: dict[str, Attrs]) -> Pair | None:
    """The pair of an island; None where it is not known what a single-device node computes of one column.

    known: attributes that were met, by how they are written: 1, 1.0 and True are not one.
    """
    given = {share.base for value in island.given.values() for share in value}
    due = list(dict.fromkeys(tuple(share.base for share in value) for value in island.due.values()))
    single = _Single(table, given, known)
    try:
        for bases in due:
            single.ends(bases)
    except _NoColumnError:
        return None
    single.also(sorted(given - single.inputs.keys()))
    parallel = _parallel(island, table, plan, single, known)
    return Pair(single.plan(), parallel, tuple(dict.fromkeys(single.members)))


class _NoColumnError(Exception):
    """What a node computes of one column of the batch is not known."""


class _Builder:
    """Tensors and nodes of a plan, numbered in the order in which they are met."""

    def __init__(self) -> None:
        self.logicals: list[Logical] = []
        self.regions: list[Tensor] = []
        self.nodes: dict[int, list[Node]] = {}

    def tensor(self, name: str, shape: tuple[int, ...], dtype: str, kind: str = ACTIVATION) -> int:
        """A tensor that is all of a logical tensor of its own."""
        self.logicals.append(Logical(name, shape, dtype, kind))
        return self.share(len(self.logicals) - 1, whole(shape))

    def share(self, logical: int, region: Region) -> int:
        self.regions.append(Tensor(logical, region))
        return len(self.regions) - 1

    def node(self, device: int, op: str, inputs: Sequence[int], outputs: Sequence[int], attrs: Attrs = ()) -> None:
        nodes = self.nodes.setdefault(device, [])
        nodes.append(Node(op, tuple(inputs), tuple(outputs), attrs, f"{op} {attrs!r}"))

    def build(self, devices: int, outputs: Sequence[Held], source: str) -> Plan:
        segments = tuple(Segment("cone", device, tuple(self.nodes.get(device, ()))) for device in range(devices))
        return Plan(
            source=source,
            format="cone",
            mesh=(("replicas", 1), ("devices", devices)),
            devices=devices,
            replicas=1,
            microbatches=1,
            logicals=tuple(self.logicals),
            tensors=tuple(self.regions),
            segments=segments,
            programs=tuple((Call(device, 0),) for device in range(devices)),
            losses=(),
            gradients=(),
            seeds=(),
            outputs=tuple(outputs),
        )


class _Single(_Builder):
    """The single-device side. tensors: of each value that was met. given: values that are not computed."""

    def __init__(self, table: Reference, given: set[int], known: dict[str, Attrs]) -> None:
        super().__init__()
        self.table, self.given, self.known = table, given, known
        self.tensors: dict[int, int] = {}
        self.inputs: dict[int, str] = {}
        self.outputs: dict[tuple[int, ...], str] = {}
        self.held: list[Held] = []
        self.members: list[Members] = []

    def ends(self, bases: tuple[int, ...]) -> None:
        """Declare the sum of some values as an output."""
        self._compute(bases)
        name = self.outputs[bases] = f"output {len(self.outputs)}"
        of = self.table.bases[bases[0]]
        tensor = self.tensor(name, self.table.column_shape(bases[0]), of.dtype)
        self.node(0, COPY if len(bases) == 1 else SUM, [self.tensors[base] for base in bases], [tensor])
        self.held.append(Held(0, tensor))

    def also(self, bases: Sequence[int]) -> None:
        """Values that are given, though nothing is computed of them."""
        self._give(bases)

    def plan(self) -> Plan:
        """All that was met, as a plan."""
        return self.build(1, self.held, "the single-device plan between cut points")

    def _compute(self, wanted: Sequence[int]) -> None:
        """Add the nodes that compute some values, those before them first."""
        stack = list(wanted)
        while stack:
            base = stack[-1]
            if base in self.tensors:
                stack.pop()
                continue
            of = self.table.bases[base]
            if of.node < 0 or base in self.given:
                self._give([base])
                continue
            partner = self.table.partners[of.node]
            for position in partner.meaning.ignored:
                self._give([other for other in partner.inputs[position] if other not in self.tensors])
            missing = [other for bases in partner.inputs for other in bases if other not in self.tensors]
            if missing:
                stack.extend(missing)
                continue
            self._add(of.node)

    def _give(self, bases: Sequence[int]) -> None:
        """Let values be given: what is known, and what only the shape counts of."""
        for base in bases:
            self.inputs[base] = f"input {len(self.inputs)}"
            shape, dtype = self.table.column_shape(base), self.table.bases[base].dtype
            self.tensors[base] = self.tensor(self.inputs[base], shape, dtype, INPUT)

    def _add(self, index: int) -> None:
        partner = self.table.partners[index]
        reads = []
        for tensor, bases in zip(partner.node.inputs, partner.inputs, strict=True):
            if len(bases) > 1:
                logical = self.table.plan.logicals[self.table.plan.tensors[tensor].logical]
                total = self.tensor(f"sum {len(self.logicals)}", self.table.column_shape(bases[0]), logical.dtype)
                self.node(0, SUM, [self.tensors[base] for base in bases], [total])
                reads.append(total)
            else:
                reads.append(self.tensors[bases[0]] if bases else ABSENT)
        outputs = []
        for base in partner.outputs:
            if base == ABSENT:
                outputs.append(ABSENT)
                continue
            of = self.table.bases[base]
            made = self.tensor(f"value {len(self.logicals)}", self.table.column_shape(base), of.dtype)
            if base not in self.given:
                self.tensors[base] = made
            outputs.append(made)
        attrs = partner.node.attrs if self.table.columns == 1 else self._on_a_column(partner)
        self.node(0, partner.node.op, reads, outputs, self.known.setdefault(repr(attrs), attrs))

    def _on_a_column(self, partner: Partner) -> Attrs:
        """The attributes of a node on one column, if what it computes there is its share of what it computes."""
        meaning = partner.meaning
        shapes = [self.table.column_shape(bases[0]) if bases else None for bases in partner.inputs]
        attrs = column_attrs(meaning, partner.node.attrs, shapes[meaning.signature.grads :])
        if attrs is None or meaning.complete:
            raise _NoColumnError
        regions = tuple(whole(shape) if shape is not None else None for shape in shapes)
        member = transfer(meaning, attrs, regions, tuple(base != ABSENT for base in partner.outputs))
        if isinstance(member, Misfit) or any(claim and claim.part for claim in member.claims):
            raise _NoColumnError
        self.members.append(Members(meaning.signature, (member,)))
        return attrs


def _parallel(island: Island, table: Reference, plan: Plan, single: _Single, known: dict[str, Attrs]) -> Plan:
    """The parallel side: the devices that take part, numbered anew."""
    built = _Builder()
    devices = {device: k for k, device in enumerate(sorted({d for event in island.events for d, _ in event.nodes}))}
    tensors: dict[CutPoint, int] = {}
    logicals: dict[int, int] = {}
    for base, name in single.inputs.items():
        of = table.bases[base]
        logicals[base] = len(built.logicals)
        built.logicals.append(Logical(name, table.column_shape(base), of.dtype, INPUT))
    for point, value in island.given.items():
        tensors[point] = built.share(logicals[value[0].base], value[0].region)

    def made(device: int, tensor: int) -> int:
        if tensor == ABSENT:
            return ABSENT
        if (device, tensor) not in tensors:
            dtype = plan.logicals[plan.tensors[tensor].logical].dtype
            shape = extent(plan.tensors[tensor].region)
            tensors[device, tensor] = built.tensor(f"value {len(built.logicals)}", shape, dtype)
        return tensors[device, tensor]

    channels: dict[Hashable, str] = {}
    for device, number in devices.items():
        for node in (node for event in island.events for at, node in event.nodes if at == device):
            reads = [made(device, tensor) for tensor in node.inputs]
            writes = [made(device, tensor) for tensor in node.outputs]
            attrs = _renumbered(node.attrs, devices, channels)
            built.node(number, node.op, reads, writes, known.setdefault(repr(attrs), attrs))
    held: list[Held] = []
    ends: dict[tuple[int, ...], int] = {}
    for (device, tensor), value in island.due.items():
        bases = tuple(share.base for share in value)
        if bases not in ends:
            of = table.bases[bases[0]]
            ends[bases] = len(built.logicals)
            built.logicals.append(Logical(single.outputs[bases], table.column_shape(bases[0]), of.dtype, ACTIVATION))
        end = built.share(ends[bases], value[0].region)
        built.node(devices[device], COPY, [tensors[device, tensor]], [end])
        held.append(Held(devices[device], end))
    return built.build(len(devices), held, "the parallel plan between cut points")


def _renumbered(attrs: Attrs, devices: Mapping[int, int], channels: dict[Hashable, str]) -> Attrs:
    """The attributes of a node, with the new numbers of devices and names of channels."""
    found: dict[str, Any] = dict(attrs)
    if "ranks" in found:
        found["ranks"] = tuple(devices[rank] for rank in found["ranks"])
    for name in ("root", "peer"):
        if name in found:
            found[name] = devices.get(found[name], found[name])
    if "channel" in found:
        found["channel"] = channels.setdefault(found["channel"], f"channel {len(channels)}")
    return tuple(found.items())
