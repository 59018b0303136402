"""The plan: the program of every device, as families of instances. What every backend produces.

A plan is written for its *plan devices* (pipeline x tensor x ... parallel) and is run by `replicas` copies
of them (data parallel): rank = replica * devices + device. A *segment* is a straight line of nodes of one
device; a device's program *calls* segments, for one microbatch or once a step. The tensors of a segment
are its own for every (replica, microbatch), but for weights, buffers and accumulators, of which there is
one a replica. So a plan for 8,192 ranks is as large as its distinct programs.

Conventions that every backend keeps:
- SSA: within one device and microbatch every tensor is produced at most once, before it is used. A tensor
  of kind `accumulator` is the exception: whatever produces it adds to it, over nodes and microbatches.
- `op.grad` is the gradient of the forward operator `op`. Its inputs are the gradients of the outputs of
  `op`, then the inputs of `op`; its outputs are the gradients of the inputs of `op`, ABSENT where not
  wanted; its attrs are those of `op`. A gradient input may be ABSENT too: it is zero.
- Constants are attributes, not inputs: `add(x, 1e-5)` is add with inputs (x,) and attrs other=1e-5.
- Communication nodes carry `ranks`, the group in plan devices of the same replica, in the order of the
  group. With `replicas=True` the group is that set on every replica (a gradient reducer). A group of one device
  with `replicas=True` may also reduce_scatter, all_gather and chunk: its members are the replicas, in their order.
- Shards over replicas: a logical tensor in `shard_axes` is divided along that axis over the replicas, evenly. Its
  shape and its regions are those of one replica. Where a device says [a, b) along the axis, its n replicas together
  hold [n a, n b) of the whole, and replica r piece r of that (verdict/graph/shards.py).
- A region or part that a plan states is a claim. It says where to look; the proof decides.
- Declared outputs: losses, final gradients, and further `outputs`. A part i of n on a declared output says that the
  n parts, over the devices of a replica and of one region, add up to the output of the single-device plan.
- A plan may list all ranks as plan devices, with one replica: its inputs then have regions along the batch.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NamedTuple

from verdict.graph.region import Region, Shape, extent
from verdict.outcome import Assumption, Finding, Source

ABSENT = -1
GRAD = ".grad"
"""The end of the name of a gradient node: see the conventions above."""
COPY, SUM, NARROW = "identity", "accumulate", "narrow"
"""The operators that the form of plans itself knows: a copy, the sum of tensors of one shape, a part along an axis."""
ONCE_A_STEP = -1

Attrs = tuple[tuple[str, Hashable], ...]
"""Sorted (name, value) pairs. Interned by the backend: equal attributes are one object."""

INPUT, WEIGHT, BUFFER = "input", "weight", "buffer"
ACTIVATION, GRADIENT, ACCUMULATOR = "activation", "gradient", "accumulator"
PER_STEP = frozenset({WEIGHT, BUFFER, ACCUMULATOR})


class Logical(NamedTuple):
    """A logical tensor: what the tensors of many devices are shares of.

    shape: in the coordinates of one column, that is one (replica, microbatch); the single plan has one column.
    origin: a hint which tensors of two plans are the same one; equal origins are tried first, never trusted.
    """

    name: str
    shape: Shape
    dtype: str
    kind: str
    origin: Hashable = None


class Tensor(NamedTuple):
    """A share of a logical tensor, as the plan states it: a region, and part i of n of a sum."""

    logical: int
    region: Region
    part: tuple[int, int] = (0, 1)


class Node(NamedTuple):
    """One operator of one device. `inputs` and `outputs` index Plan.tensors; `name` is for people."""

    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Attrs
    name: str


class Segment(NamedTuple):
    """A straight line of nodes of one device."""

    name: str
    device: int
    nodes: tuple[Node, ...]


class Call(NamedTuple):
    """One run of a segment. `crossed` lists (tensor, microbatch) for inputs taken from another microbatch."""

    segment: int
    microbatch: int
    crossed: tuple[tuple[int, int], ...] = ()

    @property
    def taken(self) -> tuple[tuple[int, int], ...]:
        """What of `crossed` comes from another microbatch than its own: the call's own says what holds anyway."""
        return tuple((tensor, microbatch) for tensor, microbatch in self.crossed if microbatch != self.microbatch)


class Held(NamedTuple):
    """A declared output: the tensor that `device` holds of it at the end.

    weight: for gradients, of which weight; for outputs, the weight or buffer whose updated value it is, or ABSENT.
    """

    device: int
    tensor: int
    weight: int = ABSENT


class Storage(NamedTuple):
    """Memory of one device in which several of its tensors live, in all microbatches. See verdict/graph/effects.py."""

    device: int
    name: str
    tensors: tuple[int, ...]


Look = tuple[str, int, tuple[int, ...], tuple[int, ...]]
"""What the form of a node is told by: its operator, the identity of its attributes (1 and True are equal, and one of
them may be refused), and for each tensor that it reads and makes a number of its shape and number format, or ABSENT.
"""


@dataclass(frozen=True)
class Plan:
    """A whole plan. See the head of this file for the conventions.

    mesh: (axis name, size) from the slowest axis to the fastest; the first is the replicas. For people.
    batch_axes: for each input tensor by name, the axis that replicas and microbatches split; empty where the
        file does not say (then it is found by comparing the plans, and an assumption says so).
    shard_axes: for each logical tensor by name that replicas divide (ZeRO), the axis along which they do.
    seeds: tensors that hold the gradient of the loss, 1.
    ranges: for given tensors of integers by name, the least and the greatest integer that they hold, None for no end;
        for those of real numbers 0 and None: none of them is negative.
    doubtful: of a part of a plan, the given tensors by name that need not hold numbers, and the outputs that must be
        none where those of the other plan are none; a whole plan is given numbers.
    positive: of a part of a plan, the given tensors of real numbers by name that are greater than zero.
    granted: of a part of a plan, the nodes by name that divide by zero nowhere where all losses are numbers.
    outputs: what is declared besides losses and gradients: updated weights and states, each `of` the weight or
        buffer that it follows, and others, which are found in the single-device plan by origin or name.
    storages, effects: memory that tensors share, and whether the plan states any effect (verdict/graph/effects.py).
    groups: the groups of ranks that the program makes before its step, of all replicas; empty where any group is there.
    faults: what is wrong with it that nodes and calls cannot say, as whoever read it from another format found: code,
        title and place only.
    sources: the lines of the program that was recorded, each once, without columns.
    lines: for each segment the lines of its nodes in the text that the plan was read from; empty where it was not.
    """

    source: str
    format: str
    mesh: tuple[tuple[str, int], ...]
    devices: int
    replicas: int
    microbatches: int
    logicals: tuple[Logical, ...]
    tensors: tuple[Tensor, ...]
    segments: tuple[Segment, ...]
    programs: tuple[tuple[Call, ...], ...]
    losses: tuple[Held, ...]
    gradients: tuple[Held, ...]
    seeds: tuple[int, ...]
    batch_axes: tuple[tuple[str, int], ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    outputs: tuple[Held, ...] = ()
    storages: tuple[Storage, ...] = ()
    effects: bool = False
    shard_axes: tuple[tuple[str, int], ...] = ()
    faults: tuple[Finding, ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    ranges: tuple[tuple[str, int, int | None], ...] = ()
    doubtful: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    granted: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    lines: tuple[tuple[int, ...], ...] = field(default=(), repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: nothing that is derived, as looks tell attributes by their identity in this process."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def declared(self) -> tuple[Held, ...]:
        """All declared outputs: losses, gradients and further ones."""
        return (*self.losses, *self.gradients, *self.outputs)

    @property
    def ranks(self) -> int:
        """The number of devices in all replicas."""
        return self.devices * self.replicas

    @property
    def size(self) -> int:
        """The number of nodes of all segments."""
        return sum(len(segment.nodes) for segment in self.segments)

    @property
    def columns(self) -> int:
        """The number of (replica, microbatch) pairs, each of which computes one share of the batch."""
        return self.replicas * self.microbatches

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Of each tensor the kind of the logical tensor that it is a share of."""
        of = [logical.kind for logical in self.logicals]
        return tuple([of[tensor.logical] for tensor in self.tensors])

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Of each tensor the shape that it has on its device."""
        return tuple([extent(tensor.region) for tensor in self.tensors])

    @cached_property
    def _formats(self) -> tuple[int, ...]:
        """Of each tensor a number of its shape and number format; at last, where ABSENT points to, none."""
        known: dict[tuple[Shape, str], int] = {}
        of = [logical.dtype for logical in self.logicals]
        formats = [(shape, of[tensor.logical]) for shape, tensor in zip(self.shapes, self.tensors, strict=True)]
        return (*[known.setdefault(one, len(known)) for one in formats], ABSENT)

    def look(self, node: Node) -> Look:
        """What the form of a node is told by. Nodes of one look are right or wrong together."""
        of = self._formats
        return node.op, id(node.attrs), tuple([of[t] for t in node.inputs]), tuple([of[t] for t in node.outputs])

    @cached_property
    def looks(self) -> Mapping[Look, tuple[int, int]]:
        """Where the first node of each look stands: its segment, and its place in that. In the order of the plan."""
        found: dict[Look, tuple[int, int]] = {}
        look = self.look
        for number, segment in enumerate(self.segments):
            for place, node in enumerate(segment.nodes):
                found.setdefault(look(node), (number, place))
        return found

    def kind(self, tensor: int) -> str:
        """The kind of the logical tensor that `tensor` is a share of."""
        return self.kinds[tensor]
