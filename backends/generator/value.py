"""Values: tensors of one device while it is recorded, and where on the mesh their shares lie."""

from functools import cache
from typing import NamedTuple

from verdict.backends.generator.draft import Cuts
from verdict.backends.generator.mesh import Mesh
from verdict.graph import ACTIVATION, Shape

BATCH, DATA = ("dp", "ep"), ("dp", "ep", "cp")
"""The axes of the mesh that divide the batch, and those whose devices see different data."""


class Value(NamedTuple):
    """A tensor of the device that is recorded. `shape` is that of the logical tensor, which devices share.

    split: the axis that the ranks of mesh axis `by` divide, in whole units of `unit` elements.
    addend: each of them has one addend of it.
    entered: it has passed `enter`, so each of them sees only its own use of it, and its gradient is an addend.
    gathered: the ranks of `by`, which divide the batch, have it for the samples of all of them.
    batch, seq: the axes that are samples and positions; scattered: the tp ranks divide the positions, too.
    block: it is one block of the positions, (its number, how many there are), and not the share of the cp ranks.
    partial: each data parallel rank has one addend of it. sharded: the data parallel ranks that are devices divide
    axis `along`; divided: so do the replicas, each piece of it.
    trained: the loss depends on it differentiably. use: tells handles of one tensor apart.
    """

    tensor: int
    use: int
    name: str
    shape: Shape
    dtype: str
    split: int | None = None
    addend: bool = False
    entered: bool = False
    trained: bool = True
    kind: str = ACTIVATION
    batch: int | None = None
    seq: int | None = None
    scattered: bool = False
    by: str = "tp"
    partial: bool = False
    sharded: bool = False
    block: tuple[int, int] | None = None
    gathered: bool = False
    unit: int = 1
    divided: bool = False
    along: int = 0

    @property
    def data(self) -> tuple[str, ...]:
        """The mesh axes of the ranks that have the same share of this weight, and see different data."""
        return tuple(axis for axis in DATA if self.split is None or axis != self.by)

    @property
    def shard(self) -> "Value":
        """What one data parallel rank has of it."""
        return self._replace(sharded=True, divided=True)

    @property
    def sums(self) -> tuple[str, ...]:
        """The mesh axes along which the ranks have addends of it."""
        return (*(DATA if self.partial else ()), *((self.by,) if self.addend else ()))

    def on(self, mesh: Mesh) -> "Value":
        """What remains of it where mesh axes have one rank only."""
        found = self if mesh.size(self.by) > 1 else self._replace(split=None, addend=False, entered=False)
        return found if mesh.size("tp") > 1 else found._replace(scattered=False)

    def cuts(self, mesh: Mesh, device: int) -> Cuts:
        """For each dimension, into how many pieces it is cut, one cut after the other, and which the device has."""
        return _cuts(
            mesh, device, len(self.shape), self.batch, self.seq, self.split, self.by, self.scattered,
            self.data if self.sharded else (), self.along, self.block, self.gathered, self.unit,
        )  # fmt: skip


@cache
def _cuts(
    mesh: Mesh, device: int, rank: int, batch: int | None, seq: int | None, split: int | None, by: str,
    scattered: bool, shards: tuple[str, ...], along: int, block: tuple[int, int] | None, gathered: bool,
    unit: int,
) -> Cuts:  # fmt: skip
    axes: list[list[tuple[tuple[str, ...], int]]] = [[] for _ in range(rank)]
    if batch is not None:
        axes[batch].append((tuple(axis for axis in BATCH if axis != by or not (gathered or split is not None)), 1))
    if seq is not None:
        axes[seq] += [(("cp",), 1), (("tp",), 1)] if scattered else [(("cp",), 1)]
    if split is not None:
        axes[split].append(((by,), unit))
    if shards:
        axes[along].append((shards, 1))
    found = tuple(tuple((*mesh.place(device, group), unit) for group, unit in groups) for groups in axes)
    if block is None or seq is None:
        return found
    return (*found[:seq], ((*block, 1),), *found[seq + 1 :])
