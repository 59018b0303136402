"""From tensor records to the plan's tables of logical tensors and shares.

A share is known by its id (tid): the same logical tensor, region and part have one tid on all devices, and a
tid with two meanings is refused. The plan is in SSA form, so the table is keyed by (tid, version): version 0
is what is given (weights, buffers) or produced first, each further production of a tid on a device has its own.
"""

from collections.abc import Hashable
from typing import Any, NamedTuple

from verdict.backends.nnscaler.records import (
    IndexMap,
    IRFullTensor,
    IRSubTensor,
    MalformedError,
    Record,
    State,
    ValueMap,
    integer,
    integers,
    state,
)
from verdict.graph import (
    ACCUMULATOR,
    ACTIVATION,
    BUFFER,
    GRADIENT,
    INPUT,
    WEIGHT,
    Logical,
    Region,
    Shape,
    Tensor,
    extent,
    inside,
)

GIVEN = 0
LOADED, NEVER, SEED, SUMMED, REDUCED = "loaded", "never", "seed", "summed", "reduced"
"""Versions other than the numbered ones: from the batch, produced by nobody, the gradient of the loss; and
(SUMMED, weight), the accumulator of a weight, (REDUCED, ...), what a reducer makes of it."""

_KIND_OF_VERSION = {LOADED: INPUT, SUMMED: ACCUMULATOR, REDUCED: GRADIENT, SEED: GRADIENT}


class Parent(NamedTuple):
    """A logical tensor of the file."""

    id: int
    name: str
    shape: Shape
    dtype: str
    trainable: bool
    loss: bool


class Share(NamedTuple):
    """A share of a logical tensor. `attribute`: of the model; `weight`: so, and not a gradient."""

    tid: int
    parent: Parent
    region: Region
    part: tuple[int, int]
    attribute: bool
    weight: bool
    gradient: bool


class Tensors:
    """The tables under construction: logical tensors and shares, each once."""

    def __init__(self) -> None:
        self.logicals: list[Logical] = []
        self.tensors: list[Tensor] = []
        self._kinds: list[str] = []
        self.loss_gradients: set[int] = set()
        self._batch: tuple[int | None, ...] | None = None
        self._parents: dict[int, Parent] = {}
        self._by_id: dict[int, Parent] = {}
        self._shares: dict[int, tuple[Share, Record, Record, Record]] = {}
        self._logical: dict[tuple[int, str], int] = {}
        self._index: dict[tuple[int, Hashable], int] = {}
        self._regions: dict[Region, tuple[Region, Shape]] = {}
        self._inside: set[tuple[Region, Shape]] = set()

    def share(self, record: Record) -> Share:
        """The share that an IRSubTensor stands for. MalformedError where one tid has two meanings."""
        fields = record[0] if type(record) is IRSubTensor else state(record, IRSubTensor)
        known = self._shares.get(fields["_id"])
        if known is None:
            return self._new_share(state(record, IRSubTensor))
        share, region, part, full = known
        if (
            (fields["_indmap"] is region or fields["_indmap"][0]["_indices"] == share.region)
            and (fields["_valmap"] is part or fields["_valmap"][0]["_weight"] == share.part)
            and fields["_is_attr"] is share.attribute
            and fields["_is_grad"] is share.gradient
            and (fields["_full_tensor"] is full or self._parent(fields["_full_tensor"]) is share.parent)
        ):
            return share
        raise MalformedError(f"tensor {share.tid} of {share.parent.name} has two meanings")

    def check_same(self, record: Record, share: Share) -> None:
        """MalformedError unless `record`, for another microbatch, has the region, part and shape of `share`, and
        is a loss, or the gradient of one, as it is.
        """
        fields = state(record, IRSubTensor)
        if (
            fields["_indmap"][0]["_indices"] != share.region
            or fields["_valmap"][0]["_weight"] != share.part
            or fields["_full_tensor"][0]["_shape"] != share.parent.shape
            or fields["_full_tensor"][0]["_is_loss"] is not share.parent.loss
        ):
            raise MalformedError(f"a microbatch hands on another share of {share.parent.name} than is expected")

    def take(self, batch: tuple[int | None, ...]) -> None:
        """Remember of which logical tensors (by id; None for what is none) a share of the batch consists, in order.

        All devices take alike: the runtime goes by the place in the batch, not by names.
        """
        if self._batch is None:
            self._batch = batch
        if batch != self._batch:
            raise MalformedError("devices take different tensors from the batch, or in another order")

    def gradient(self, record: Record) -> Share | None:
        """The share that is the gradient of this very record, or None. Records of one tid can differ in it."""
        of = record[0]["_grad"]
        return None if of is None else self.share(of)

    def tensor(self, share: Share, version: Hashable) -> int:
        """The index of a version of `share` in the plan's tensors."""
        key = (share.tid, version)
        index = self._index.get(key)
        if index is not None:
            return index
        kind = _kind(share, version)
        part = (0, 1) if type(version) is tuple and version[0] == REDUCED else share.part
        index = self._index[key] = len(self.tensors)
        self.tensors.append(Tensor(self._logical_index(share.parent, kind), share.region, part))
        self._kinds.append(kind)
        return index

    def claim_whole(self, tensor: int) -> None:
        """Make `tensor` claim to be a whole value, no part of a sum."""
        self.tensors[tensor] = self.tensors[tensor]._replace(part=(0, 1))

    def is_weight(self, tensor: int) -> bool:
        """Whether `tensor` is a trainable weight as it is given, not something made of it."""
        return self._kinds[tensor] == WEIGHT

    def _logical_index(self, parent: Parent, kind: str) -> int:
        index = self._logical.get((parent.id, kind))
        if index is None:
            index = self._logical[parent.id, kind] = len(self.logicals)
            place = ("batch", (self._batch or ()).index(parent.id)) if kind == INPUT else parent.id
            self.logicals.append(Logical(parent.name, parent.shape, parent.dtype, kind, place))
        return index

    def _new_share(self, fields: State) -> Share:
        parent = self._parent(fields["_full_tensor"])
        region = self._region(parent, state(fields["_indmap"], IndexMap)["_indices"], fields["_shape"])
        part = _pair(state(fields["_valmap"], ValueMap)["_weight"])
        if part[0] >= part[1]:
            raise MalformedError(f"a share of {parent.name} that is part {part[0]} of {part[1]}")
        attribute, gradient = _flag(fields["_is_attr"]), _flag(fields["_is_grad"])
        tid, weight = integer(fields["_id"], "a tensor id"), attribute and not gradient
        share = Share(tid, parent, region, part, attribute, weight, gradient)
        self._shares[tid] = share, fields["_indmap"], fields["_valmap"], fields["_full_tensor"]
        return share

    def _region(self, parent: Parent, indices: Any, shape: object) -> Region:
        known = self._regions.get(indices) if type(indices) is tuple else None
        if known is None:
            region = tuple([_pair(interval) for interval in indices])
            known = self._regions.setdefault(region, (region, extent(region)))
        region, within = known
        if within != shape:
            raise MalformedError(f"a share of {parent.name} whose shape is not that of its region")
        if (region, parent.shape) not in self._inside:
            if not inside(region, parent.shape):
                raise MalformedError(f"a region of {parent.name} outside of its shape {parent.shape}")
            self._inside.add((region, parent.shape))
        return region

    def _parent(self, record: Record) -> Parent:
        known = self._parents.get(id(record))
        if known is not None:
            return known
        fields = state(record, IRFullTensor)
        parent = Parent(
            integer(fields["_id"], "the id of a full tensor"),
            _text(fields["name"]),
            integers(fields["_shape"], "the shape of a full tensor"),
            _text(fields["_dtype"]),
            _flag(fields["_requires_grad"]),
            _flag(fields["_is_loss"]),
        )
        if self._by_id.setdefault(parent.id, parent) != parent:
            raise MalformedError(f"the full tensor {parent.id}, {parent.name}, has two meanings")
        parent = self._parents[id(record)] = self._by_id[parent.id]
        if parent.loss and fields["_grad"] is not None:
            self.loss_gradients.add(self._parent(fields["_grad"]).id)
        return parent


def _kind(share: Share, version: Hashable) -> str:
    if share.weight and version == GIVEN:
        return WEIGHT if share.parent.trainable else BUFFER
    if type(version) is tuple:
        return _KIND_OF_VERSION[version[0]]
    if version in _KIND_OF_VERSION:
        return _KIND_OF_VERSION[version]
    return GRADIENT if share.gradient else ACTIVATION


def _pair(value: Any) -> tuple[int, int]:
    if type(value) in {tuple, list} and len(value) == 2:
        first, second = value
        if type(first) is int and type(second) is int and first >= 0 and second >= 0:
            return first, second
    raise MalformedError(f"an interval or part should be two numbers, found {type(value).__name__}")


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise MalformedError(f"a flag should be true or false, found {type(value).__name__}")
    return value


def _text(value: object) -> str:
    if type(value) is not str:
        raise MalformedError(f"a name should be a text, found {type(value).__name__}")
    return value
