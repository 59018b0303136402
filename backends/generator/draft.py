"""A plan while it is made: the tables that all its devices share."""

from collections.abc import Hashable
from typing import Protocol

from verdict.backends.generator.mesh import Mesh
from verdict.errors import UsageError
from verdict.graph import Attrs, Interval, Logical, Node, Region, Shape, Tensor

Cuts = tuple[tuple[tuple[int, int, int], ...], ...]


class Placed(Protocol):
    """What a share needs to know of a value."""

    @property
    def shape(self) -> Shape: ...
    @property
    def dtype(self) -> str: ...
    @property
    def divided(self) -> bool: ...
    @property
    def along(self) -> int: ...
    def cuts(self, mesh: Mesh, device: int) -> Cuts: ...


class Draft:
    """The tables of a plan. Logical tensors are told apart by name; regions and attributes are kept once.

    shards: the axis along which replicas divide a logical tensor, whose shape is then that of one of them.
    """

    def __init__(self, replicas: int = 1) -> None:
        self.replicas = replicas
        self.shards: dict[str, int] = {}
        self.logicals: list[Logical] = []
        self.tensors: list[Tensor] = []
        self._numbers: dict[str, int] = {}
        self._regions: dict[tuple[Shape, Cuts], Region] = {}
        self._attrs: dict[Attrs, Attrs] = {}

    def tensor(
        self, name: str, shape: Shape, dtype: str, kind: str, region: Region, part: tuple[int, int] = (0, 1),
        origin: str = "",
    ) -> int:  # fmt: skip
        """A new share of the logical tensor `name`, whose origin is its name if no other is given."""
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self.logicals)
            self.logicals.append(Logical(name, shape, dtype, kind, origin or name))
        assert self.logicals[number].shape == shape, f"two tensors are called {name}"
        self.tensors.append(Tensor(number, region, part))
        return len(self.tensors) - 1

    def region(self, shape: Shape, cuts: Cuts) -> Region:
        """The whole, cut along each dimension, one cut after the other.

        cuts: for each dimension the (number of the piece, how many, unit) of every cut, see `cut`.
        """
        key = (shape, cuts)
        if key not in self._regions:
            self._regions[key] = tuple(cut(size, pieces) for size, pieces in zip(shape, cuts, strict=True))
            if any(start >= stop for start, stop in self._regions[key]):
                raise UsageError(str(list(shape)), "a device is left without a share of it", "choose larger sizes")
        return self._regions[key]

    def share(
        self, mesh: Mesh, device: int, value: Placed, name: str, kind: str, sums: tuple[str, ...], origin: str = ""
    ) -> int:
        """A new share of `name`: the region that lies on a device, and an addend along the mesh axes `sums`."""
        shape = value.shape
        if value.divided and self.replicas > 1:
            self.shards[name] = value.along
            size = shape[value.along] // self.replicas
            shape = (*shape[: value.along], size, *shape[value.along + 1 :])
        region = self.region(shape, value.cuts(mesh, device))
        return self.tensor(name, shape, value.dtype, kind, region, mesh.place(device, sums), origin)

    def node(
        self, op: str, inputs: tuple[int, ...], outputs: tuple[int, ...], attrs: dict[str, Hashable], name: str
    ) -> Node:
        """A node; equal attributes are one object."""
        pairs: Attrs = tuple(sorted(attrs.items(), key=lambda pair: pair[0]))
        return Node(op, inputs, outputs, self._attrs.setdefault(pairs, pairs), name)


def cut(size: int, pieces: tuple[tuple[int, int, int], ...]) -> Interval:
    """What is left of an axis after some cuts into (number of the piece, how many, unit).

    Pieces are as even as torch.chunk's, in whole units, which an axis begins with; the last unit may be smaller.
    """
    start, stop = 0, size
    for number, count, unit in pieces:
        units = -(-(stop - start) // unit)
        step = -(-units // count) * unit
        start, stop = min(start + number * step, stop), min(start + (number + 1) * step, stop)
    return start, stop
