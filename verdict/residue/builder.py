"""A plan of one column and one segment for each device, made node by node."""

from collections.abc import Sequence

from verdict.graph import (
    ACTIVATION,
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

    def share(self, logical: int, region: Region, part: tuple[int, int] = (0, 1)) -> int:
        """A tensor that is a region of a logical tensor, or an addend of it."""
        self.regions.append(Tensor(logical, region, part))
        return len(self.regions) - 1

    def times(self, device: int, tensor: int, count: int) -> int:
        """A tensor that is the sum of so many copies of one; itself for one copy."""
        if count == 1:
            return tensor
        of = self.logicals[self.regions[tensor].logical]
        total = self.tensor(f"{count} times {len(self.logicals)}", extent(self.regions[tensor].region), of.dtype)
        self.node(device, SUM, [tensor] * count, [total])
        return total

    def node(
        self, device: int, op: str, inputs: Sequence[int], outputs: Sequence[int], attrs: Attrs = (), name: str = ""
    ) -> None:
        """A node; where no name is given, it is called by what it does."""
        nodes = self.nodes.setdefault(device, [])
        nodes.append(Node(op, tuple(inputs), tuple(outputs), attrs, name or f"{op} {attrs!r}"))

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
