"""What a structural finding is about: the nodes at which it shows, and the tensors."""

from typing import NamedTuple


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


class Fault(NamedTuple):
    """The evidence of a structural finding. places: where it shows, the first one first. tensors: about which."""

    places: tuple[Place, ...] = ()
    tensors: tuple[int, ...] = ()
