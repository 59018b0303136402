"""Run a plan: every device of every replica in lockstep, every microbatch, with real collectives, on numpy.

The replicas of a device run the same program, so one walk over the plan's devices moves all replicas at once;
their values are their own. A tensor of kind accumulator starts at zero and grows by whatever produces it; weights
and buffers are the slices that the plan says the device holds, or what its nodes make of them (the gathered shares
of a weight), the latest in every microbatch; all else belongs to one microbatch. A complex array has a trailing axis
of length two. An input that some device loads is there where its loader has run for the microbatch; any other is
given.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from verdict.comparison import Fault, Faulty
from verdict.concrete.arity import Reading, cast_of, cast_of_sum, reading
from verdict.concrete.bind import Binding
from verdict.concrete.collectives import exchange, piece
from verdict.concrete.small import Small, signature
from verdict.concrete.wiring import axis_of, check_group, place, position_in, the_input, the_output
from verdict.errors import ShapeError
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    BUFFER,
    GRAD,
    INPUT,
    ONCE_A_STEP,
    PER_STEP,
    WEIGHT,
    Held,
    Node,
    Plan,
    shard,
    shard_axes,
)
from verdict.graph.lockstep import CHUNK, LOADER, Handlers, Step, attribute, lockstep, program
from verdict.ops import Array
from verdict.ops.integers import cast

Env = dict[int, Array]


class Rank(NamedTuple):
    """One device of one replica."""

    replica: int
    device: int


class Run(NamedTuple):
    """What a plan declares: losses and further outputs by (rank, microbatch, tensor), gradients by (rank, tensor).

    What is there once a step, such as a loss that the microbatches add up, is there for ONCE_A_STEP.
    """

    losses: Mapping[tuple[Rank, int, int], Array]
    gradients: Mapping[tuple[Rank, int], Array]
    outputs: Mapping[tuple[Rank, int, int], Array]


def execute(plan: Plan, small: Small, binding: Binding, given: Mapping[int, Array], exact: bool = False) -> Run:
    """Run `plan` at small shapes on `given`, arrays by logical tensor of the single-device plan. Raises Faulty."""
    return _Machine(plan, small, binding, given, exact).run()


class _Machine:
    def __init__(self, plan: Plan, small: Small, binding: Binding, given: Mapping[int, Array], exact: bool) -> None:
        self.plan, self.small, self.binding, self.given, self.exact = plan, small, binding, given, exact
        self.kinds = [plan.kind(tensor) for tensor in range(len(plan.tensors))]
        self.dtypes = [plan.logicals[tensor.logical].dtype for tensor in plan.tensors]
        self.shapes = [small.shape(tensor) for tensor in range(len(plan.tensors))]
        self.replicas = range(plan.replicas)
        ranks = [Rank(replica, device) for replica in self.replicas for device in range(plan.devices)]
        self.once: dict[Rank, Env] = {rank: {} for rank in ranks}
        self.own: dict[tuple[Rank, int], Env] = {}
        self.slices: dict[tuple[int, int], Array] = {}
        self.divided = shard_axes(plan)
        self.seeds = frozenset(plan.seeds)
        self.made: list[set[int]] = [set() for _ in range(plan.devices)]
        for segment in plan.segments:
            self.made[segment.device].update(tensor for node in segment.nodes for tensor in node.outputs)
        self.loaded = {
            plan.tensors[tensor].logical
            for segment in plan.segments
            for node in segment.nodes
            if node.op == LOADER
            for tensor in node.outputs
            if tensor != ABSENT
        }

    def run(self) -> Run:
        walk = lockstep(
            [program(self.plan, calls) for calls in self.plan.programs],
            Handlers(self.local, self.send, self.receive, self.meet),
        )
        if walk.stuck:
            stuck = walk.stuck[0]
            raise Faulty(Fault(f"it waits for {stuck.awaits} for ever", place(stuck.device, stuck.step)))
        return self.results()

    def local(self, device: int, step: Step) -> None:
        node, where = step.node, place(device, step)
        handle = {CHUNK: self.chunk, LOADER: self.load}.get(node.op, self.compute)
        for replica in self.replicas:
            rank = Rank(replica, device)
            for tensor, value in zip(node.outputs, handle(rank, step, where), strict=False):
                if tensor != ABSENT:
                    self.write(rank, step.microbatch, tensor, value, where)

    def load(self, rank: Rank, step: Step, where: str) -> tuple[Array | None, ...]:
        """The share of this column's batch that each tensor is of."""
        for tensor in step.node.outputs:
            if tensor == ABSENT or self.kinds[tensor] != INPUT or step.microbatch < 0:
                raise Faulty(Fault("it loads what is no input of a microbatch", where))
        column = rank.replica * self.plan.microbatches + step.microbatch
        return tuple(self.share(tensor, column) for tensor in step.node.outputs)

    def chunk(self, rank: Rank, step: Step, where: str) -> tuple[Array | None, ...]:
        value = self.read(rank, step, the_input(step, where), where)
        axis = axis_of(step, "dim", value.shape, where)
        position = position_in(rank.device, step, where)
        across = bool(attribute(step.node, "replicas"))
        return (piece(value, axis, *((rank.replica, self.plan.replicas) if across else position)),)

    def compute(self, rank: Rank, step: Step, where: str) -> tuple[Array | None, ...]:
        node = step.node
        read = reading(node, where)
        attrs = self.small.attrs[signature(node)]
        inputs = [self.read(rank, step, tensor, where) for tensor in read.forward]
        try:
            if not node.op.endswith(GRAD):
                made = read.rule.forward(inputs, attrs)
                return tuple(self.cast(node, read, *pair, where) for pair in zip(node.outputs, made, strict=False))
            grads = [self.gradient(rank, step, k, read.grads, inputs, attrs, where) for k in range(read.grads)]
            return tuple(read.rule.gradient(inputs, grads, attrs))
        except (ValueError, IndexError, ArithmeticError, ShapeError) as error:
            outside = isinstance(error, IndexError)
            raise Faulty(Fault(f"it cannot be computed: {error}", where, ours=not outside)) from error

    def cast(self, node: Node, read: Reading, tensor: int, value: Array, where: str) -> Array:
        """What a node makes, as integers of the type that it is of."""
        dtype = cast_of(node, read, self.dtypes, tensor, where)
        return cast(value, dtype) if dtype else value

    def gradient(
        self, rank: Rank, step: Step, k: int, grads: int, inputs: list[Array], attrs: Mapping[str, Any], where: str
    ) -> Array:
        """The gradient of output k, zeros where it is absent."""
        tensor = step.node.inputs[k]
        if tensor != ABSENT:
            return self.read(rank, step, tensor, where)
        read = reading(step.node, where)
        shape = read.rule.axes([self.shapes[t] for t in read.forward], attrs).output_shapes[k]
        return self.filled(shape, 0)

    def filled(self, shape: tuple[int, ...], number: int) -> Array:
        return np.full(shape, Fraction(number), dtype=object) if self.exact else np.full(shape, float(number))

    def send(self, device: int, step: Step) -> list[Array]:
        where = place(device, step)
        tensor = the_input(step, where)
        return [self.read(Rank(replica, device), step, tensor, where) for replica in self.replicas]

    def receive(self, device: int, step: Step, values: list[Array], sent: Step) -> None:
        where = place(device, step)
        for replica, value in zip(self.replicas, values, strict=True):
            self.write(Rank(replica, device), step.microbatch, the_output(step, where), value, where)

    def meet(self, members: Mapping[int, Step]) -> None:
        ranks = check_group(members)
        first = members[ranks[0]]
        where = place(ranks[0], first)
        across = bool(attribute(first.node, "replicas"))
        if across and len(ranks) > 1 and first.node.op != "all_reduce":
            raise Faulty(Fault("a group over replicas of several devices is known for all_reduce alone", where, True))
        groups = [self.replicas] if across else [[replica] for replica in self.replicas]
        for group in groups:
            entered = [Rank(replica, device) for replica in group for device in ranks]
            results = exchange(first, tuple(each.device for each in entered), self.entered(entered, members), where)
            for rank, value in zip(entered, results, strict=True):
                step = members[rank.device]
                for tensor in step.node.outputs:
                    if tensor == ABSENT:
                        continue
                    dtype = cast_of_sum(first.node.op, len(entered), self.dtypes[tensor])
                    made = cast(value, dtype) if dtype and value is not None else value
                    self.write(rank, step.microbatch, tensor, made, place(rank.device, step))

    def entered(self, entered: list[Rank], members: Mapping[int, Step]) -> list[Array]:
        """What the members put in; of a broadcast, what its root does."""
        values = []
        for rank in entered:
            step = members[rank.device]
            root = attribute(step.node, "root")
            if step.node.inputs and (step.node.op != "broadcast" or rank.device == root):
                where = place(rank.device, step)
                values.append(self.read(rank, step, the_input(step, where), where))
        return values

    def read(self, rank: Rank, step: Step, tensor: int, where: str) -> Array:
        if tensor == ABSENT:
            raise Faulty(Fault("an input is missing", where))
        value = self.look(rank, step.source(tensor), tensor)
        if value is None:
            name = self.plan.logicals[self.plan.tensors[tensor].logical].name
            raise Faulty(Fault(f"{name} is read before anything produces it", where))
        return value

    def look(self, rank: Rank, microbatch: int, tensor: int) -> Array | None:
        """The value of a tensor, None where there is none."""
        kind = self.kinds[tensor]
        if microbatch == ONCE_A_STEP and self.plan.microbatches == 1 and tensor not in self.once[rank]:
            microbatch = 0
        for env in (self.once[rank], self.own.get((rank, microbatch), {})):
            if tensor in env:
                return env[tensor]
        if tensor in self.seeds:
            return self.filled(self.shapes[tensor], 1)
        if kind in (WEIGHT, BUFFER):
            divided = self.plan.tensors[tensor].logical in self.divided
            return None if tensor in self.made[rank.device] else self.share(tensor, rank.replica if divided else 0)
        if kind == ACCUMULATOR:
            return self.filled(self.shapes[tensor], 0)
        if kind == INPUT and microbatch >= 0 and self.plan.tensors[tensor].logical not in self.loaded:
            return self.share(tensor, rank.replica * self.plan.microbatches + microbatch)
        return None

    def share(self, tensor: int, column: int) -> Array:
        """The region of a given tensor that the plan says is held, of one column of the batch, or by one replica."""
        if (tensor, column) not in self.slices:
            logical = self.plan.tensors[tensor].logical
            partner = self.binding.logical.get(logical)
            if partner is None:
                name = self.plan.logicals[logical].name
                raise Faulty(Fault("no tensor of the single-device plan is this one", f"{self.kinds[tensor]} {name}"))
            whole = self.given[partner]
            if partner in self.binding.batch and self.kinds[tensor] == INPUT:
                axis, columns = self.binding.batch[partner]
                size = whole.shape[axis] // columns
                whole = whole[(slice(None),) * axis + (slice(column * size, (column + 1) * size),)]
            region = self.small.regions[tensor]
            if logical in self.divided and self.kinds[tensor] != INPUT:
                region = shard(region, self.divided[logical], column, self.plan.replicas)
            self.slices[tensor, column] = np.asarray(whole[tuple(slice(*interval) for interval in region)])
        return self.slices[tensor, column]

    def write(self, rank: Rank, microbatch: int, tensor: int, value: Array | None, where: str) -> None:
        if value is None:
            raise Faulty(Fault("nothing is made where an output is wanted", where))
        logical = self.plan.logicals[self.plan.tensors[tensor].logical]
        if value.shape not in (self.shapes[tensor], (*self.shapes[tensor], 2)):
            raise Faulty(Fault(f"it makes shape {list(value.shape)}, not {list(self.shapes[tensor])}", where))
        kind = self.kinds[tensor]
        if kind == ACCUMULATOR:
            env = self.once[rank]
            env[tensor] = env[tensor] + value if tensor in env else value
            return
        if kind in (WEIGHT, BUFFER):
            self.once[rank][tensor] = value
            return
        env = self.once[rank] if microbatch == ONCE_A_STEP else self.own.setdefault((rank, microbatch), {})
        if tensor in env:
            raise Faulty(Fault(f"{logical.name} is produced twice", where))
        env[tensor] = value

    def results(self) -> Run:
        gradients = {}
        for replica in self.replicas:
            for held in self.plan.gradients:
                rank = Rank(replica, held.device)
                gradients[rank, held.tensor] = self.final(rank, ONCE_A_STEP, held.tensor)
        return Run(self.declared(self.plan.losses), gradients, self.declared(self.plan.outputs))

    def declared(self, outputs: Sequence[Held]) -> dict[tuple[Rank, int, int], Array]:
        """What every rank holds of outputs at the end, in every microbatch or once."""
        found = {}
        for replica in self.replicas:
            for held in outputs:
                rank = Rank(replica, held.device)
                once = self.kinds[held.tensor] in PER_STEP or held.tensor in self.once[rank]
                for microbatch in [ONCE_A_STEP] if once else range(self.plan.microbatches):
                    found[rank, microbatch, held.tensor] = self.final(rank, microbatch, held.tensor)
        return found

    def final(self, rank: Rank, microbatch: int, tensor: int) -> Array:
        step = Step(_END, microbatch)
        return self.read(rank, step, tensor, f"the end of the step on device {rank.device}")


_END = Node("output", (), (), (), "declared outputs")
