"""How data parallel ranks divide a weight, its gradient and its states: ranks that are devices, and then replicas.

Devices cut it along its first axis as evenly as torch.chunk does. Where there are replicas, too, each piece is cut
among them, along the first axis that this divides evenly, since all replicas run one program. So what goes over all
data parallel ranks goes over devices and then over replicas, or the other way round:

    cut     chunk or reduce_scatter over devices, then over replicas
    gather  all_gather over replicas, then over devices
"""

from collections.abc import Hashable

from verdict.backends.generator.draft import Draft
from verdict.backends.generator.mesh import Mesh
from verdict.backends.generator.value import Value
from verdict.graph import Node


class UnevenError(Exception):
    """Replicas cannot divide a weight evenly: each has to be a device of the plan."""


class Shards:
    """How one device and its replicas divide weights."""

    def __init__(self, draft: Draft, mesh: Mesh, device: int) -> None:
        self._draft, self._mesh, self._device = draft, mesh, device

    @property
    def across(self) -> bool:
        """Whether replicas divide weights."""
        return self._draft.replicas > 1

    def placed(self, weight: Value) -> Value:
        """The weight with the axis along which it is divided. Raises UnevenError."""
        if not self.across:
            return weight
        pieces = self._mesh.size(*weight.data) * self._draft.replicas
        for axis, size in enumerate(weight.shape):
            ranks = self._mesh.size(weight.by) if weight.split == axis else 1
            units = size % (ranks * weight.unit) == 0 or weight.split != axis
            if size % (pieces * ranks) == 0 and units:
                return weight._replace(along=axis, unit=1 if weight.split == axis else weight.unit)
        raise UnevenError(weight.name)

    def cut(
        self, nodes: list[Node], op: str, weight: Value, before: int, after: int, name: str, kind: str,
        **attrs: Hashable,
    ) -> int:  # fmt: skip
        """Let `after` be this rank's shard of `before`. Returns what its replicas have together, called `name`."""
        attrs["dim"] = weight.along
        group = self._mesh.group(self._device, weight.data)
        together = before
        if len(group) > 1 or not self.across:
            together = after
            if self.across:
                piece = weight._replace(sharded=True)
                together = self._draft.share(self._mesh, self._device, piece, name, kind, ())
            nodes.append(self._draft.node(op, (before,), (together,), {"ranks": group, **attrs}, weight.name))
        if self.across:
            over: dict[str, Hashable] = {"ranks": (self._device,), "replicas": True}
            nodes.append(self._draft.node(op, (together,), (after,), {**over, **attrs}, weight.name))
        return together

    def gather(self, nodes: list[Node], weight: Value, before: int, after: int, name: str, kind: str) -> None:
        """Let `after` be the whole of which each rank has a shard `before`. name, kind: of what replicas make of it."""
        group, together = self._mesh.group(self._device, weight.data), before
        if self.across:
            together = after
            if len(group) > 1:
                piece = weight._replace(sharded=True, divided=False)
                together = self._draft.share(self._mesh, self._device, piece, name, kind, ())
            over: dict[str, Hashable] = {"ranks": (self._device,), "replicas": True, "dim": weight.along}
            nodes.append(self._draft.node("all_gather", (before,), (together,), over, weight.name))
        if len(group) > 1 or not self.across:
            attrs: dict[str, Hashable] = {"ranks": group, "dim": weight.along}
            nodes.append(self._draft.node("all_gather", (together,), (after,), attrs, weight.name))
