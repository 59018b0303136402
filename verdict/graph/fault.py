"""What a structural finding is about: the nodes at which it shows, the tensors, and what would correct it."""

from fractions import Fraction
from typing import NamedTuple

from verdict.graph.plan import Attrs


class Place(NamedTuple):
    """Where a parallel node stands."""

    device: int
    microbatch: int
    name: str
    op: str

    @property
    def spelled(self) -> str:
        """The node and its rank, in words."""
        return f"{self.op} {self.name} on rank {self.device}"


class NodeAt(NamedTuple):
    """A node of a device. before: how many nodes of its operator and name stand before it there."""

    device: int
    op: str
    name: str
    before: int


class Reduced(NamedTuple):
    """An output of each of some nodes, one of each rank of a group, is all-reduced behind it. how: sum or avg."""

    nodes: tuple[NodeAt, ...]
    output: int
    how: str


class Dropped(NamedTuple):
    """Nodes hand on one of their inputs."""

    nodes: tuple[NodeAt, ...]
    read: int = 0


class Wired(NamedTuple):
    """Nodes read another tensor as an input: for each the output of a node of its device."""

    nodes: tuple[NodeAt, ...]
    position: int
    sources: tuple[tuple[NodeAt, int], ...]


class Given(NamedTuple):
    """Nodes have other attributes."""

    nodes: tuple[NodeAt, ...]
    attrs: Attrs


class Multiplied(NamedTuple):
    """An output of each of some nodes is multiplied behind it."""

    nodes: tuple[NodeAt, ...]
    output: int
    factor: Fraction


class Added(NamedTuple):
    """To an output of each of some nodes something else is added behind it: the output of a node of its device."""

    nodes: tuple[NodeAt, ...]
    output: int
    sources: tuple[tuple[NodeAt, int], ...]


Edit = Reduced | Dropped | Wired | Given | Multiplied | Added
"""A change of nodes that corrects a plan."""


class Fault(NamedTuple):
    """The evidence of a structural finding. places: where it shows, the first one first. tensors: about which.

    edits: what corrects it, where that can be said of nodes.
    """

    places: tuple[Place, ...] = ()
    tensors: tuple[int, ...] = ()
    edits: tuple[Edit, ...] = ()
