"""Straight lines under construction: which version of a tensor is read, and which is made by writing it.

A name that is written again in a line means one of three things (what autograd and the generated code do):
the writer reads the name: in place, a new version; a gradient that the writer does not read: both contribute,
an explicit `accumulate`; anything else: the same value once more, a new version for those who read it later.
Gradients of weights are sums from the start: every production adds to the weight's one accumulator.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from verdict.backends.nnscaler.tensors import GIVEN, LOADED, NEVER, SEED, SUMMED, Share, Tensors
from verdict.graph import ABSENT, Attrs, Node


class Forward(NamedTuple):
    """What a forward operator was and which tensors it read: its gradient reads them again."""

    op: str
    attrs: Attrs
    inputs: tuple[int, ...]
    name: str


class Device:
    """What the lines of one device share: versions, accumulators, losses.

    made: the ids of all tensors that anything on this device writes, computed only when asked for.
    reduced: for each weight whose gradient a reducer has handled, the tensor that holds it now.
    """

    def __init__(self, number: int, tensors: Tensors, made: Callable[[], frozenset[int]]) -> None:
        self.number = number
        self.tensors = tensors
        self.accumulators: dict[int, int] = {}
        self.reduced: dict[int, int] = {}
        self.losses: dict[int, int] = {}
        self._versions: dict[int, int] = {}
        self._made = made
        self._made_ids: frozenset[int] | None = None

    def writes(self, share: Share) -> bool:
        """Whether anything on this device writes `share` at any time."""
        if self._made_ids is None:
            self._made_ids = self._made()
        return share.tid in self._made_ids

    def fresh(self, share: Share) -> int:
        """A new version of `share`."""
        tid = share.tid
        version = self._versions.get(tid)
        if version is None:
            version = GIVEN + 1 if share.weight else 0
        self._versions[tid] = version + 1
        tensor = self.tensors.tensor(share, version)
        if share.parent.loss and not share.gradient:
            self.losses[share.parent.id] = tensor
        return tensor

    def accumulator(self, weight: int, gradient: Share) -> int:
        """The accumulator of a weight of this device; the share of the first contribution names it."""
        known = self.accumulators.get(weight)
        if known is None:
            known = self.accumulators[weight] = self.tensors.tensor(gradient, (SUMMED, weight))
        return known


class Line:
    """One line: its nodes so far, and for each name (tid) the version that is read now.

    forward: what the forward operators read, of the line whose gradient this one computes.
    """

    def __init__(self, device: Device, bound: dict[int, int], forward: Mapping[int, Forward]) -> None:
        self.device = device
        self.share = device.tensors.share
        self.bound = bound
        self.forward = forward
        self.nodes: list[Node] = []
        self.done: dict[int, Forward] = {}
        self.seeds: set[int] = set()
        self._sums: list[Node] = []

    def read(self, share: Share) -> int:
        """The tensor that is read under this name. One that nobody has written here is a tensor of its own."""
        bound = self.bound.get(share.tid)
        if bound is not None:
            return bound
        if share.weight:
            return self.device.tensors.tensor(share, GIVEN)
        seed = self._seed(share)
        return self.device.tensors.tensor(share, NEVER) if seed is None else seed

    def read_or_zero(self, share: Share) -> int:
        """Like `read`; ABSENT for a gradient that nobody on this device ever writes, which is zero."""
        if share.tid in self.bound or share.weight or self.device.writes(share):
            return self.read(share)
        seed = self._seed(share)
        return ABSENT if seed is None else seed

    def write(self, share: Share, read: frozenset[int] | set[int]) -> int:
        """A new version of `share`, written by a node that reads the names `read`."""
        tid, bound = share.tid, self.bound
        made = self.device.fresh(share)
        before = None
        if share.gradient and tid not in read:
            before = bound[tid] if tid in bound else self._seed(share)
        if before is None:
            bound[tid] = made
            return made
        total = self.bound[share.tid] = self.device.fresh(share)
        self._sums.append(Node("accumulate", (before, made), (total,), (), f"{share.parent.name}.sum"))
        return made

    def write_gradient(self, of: int, share: Share, read: set[int]) -> int:
        """The gradient of the tensor `of`: an accumulator if that is a weight itself."""
        if self.device.tensors.is_weight(of):
            return self.device.accumulator(of, share)
        return self.write(share, read)

    def set_aside(self, tids: set[int]) -> dict[int, int | None]:
        """Forget what these names stand for, for as long as they mean something else."""
        return {tid: self.bound.pop(tid, None) for tid in tids}

    def put_back(self, aside: dict[int, int | None]) -> None:
        """Let the names that were set aside stand for what they did."""
        for tid, tensor in aside.items():
            self.bound.pop(tid, None)
            if tensor is not None:
                self.bound[tid] = tensor

    def load(self, share: Share) -> int:
        """`share` taken from the batch."""
        tensor = self.bound[share.tid] = self.device.tensors.tensor(share, LOADED)
        return tensor

    def add(self, node: Node) -> None:
        """Append a node, and the sums that its writing has made necessary."""
        self.nodes.append(node)
        if self._sums:
            self.nodes += self._sums
            self._sums.clear()

    def _seed(self, share: Share) -> int | None:
        if share.parent.id not in self.device.tensors.loss_gradients or not share.parent.loss:
            return None
        tensor = self.device.tensors.tensor(share, SEED)
        self.seeds.add(tensor)
        return tensor
