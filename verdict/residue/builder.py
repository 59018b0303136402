"""A plan of one column and one segment for each device, made node by node."""

from collections.abc import Sequence

from verdict.graph import ACTIVATION, Attrs, Call, Held, Logical, Node, Plan, Region, Segment, Tensor, whole


class Builder:
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
