"""The operational semantics of plans: an interpreter, generic in its domain, that runs all ranks in lockstep.

The replicas of a device run the same program, so one walk over the plan's devices moves all replicas at once; their
values are their own. A tensor of kind accumulator starts at zero and grows by whatever produces it; weights and
buffers are the slices that the plan says the device holds, or what its nodes make of them (the gathered shares of a
weight), the latest in every microbatch; all else belongs to one microbatch. Sends are buffered. An input that some
device loads is there where its loader has run for the microbatch; any other is given.
"""

from collections.abc import Mapping, Sequence
from typing import Generic

from verdict.comparison import Fault, Faulty
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    BUFFER,
    INPUT,
    ONCE_A_STEP,
    PER_STEP,
    WEIGHT,
    Node,
    Plan,
    Shape,
    shard_axes,
    slices,
)
from verdict.graph.lockstep import CHUNK, LOADER, Handlers, Step, attribute, lockstep, program
from verdict.semantics.arity import Reading, axes_of, cast_of, cast_of_sum, reading
from verdict.semantics.bind import Binding
from verdict.semantics.collectives import exchange, piece
from verdict.semantics.domain import Domain, Operation, V
from verdict.semantics.regions import region_of_share
from verdict.semantics.site import Rank, Site, on_device
from verdict.semantics.small import Small, signature
from verdict.semantics.wiring import axis_of, check_group, position_in, the_input

END = Node("the end", (), (), (), "of the step")
"""Where what is declared is read."""


class Machine(Generic[V]):
    """One plan, run at small shapes.

    given: the shapes of the tensors that the single-device plan is given, by logical tensor. What keeps the plan from
    being run raises Faulty.
    """

    def __init__(
        self, plan: Plan, small: Small, binding: Binding, given: Mapping[int, Shape], domain: Domain[V]
    ) -> None:
        self.plan, self.small, self.binding, self.given, self.domain = plan, small, binding, given, domain
        self.kinds = plan.kinds
        self.dtypes = [plan.logicals[tensor.logical].dtype for tensor in plan.tensors]
        self.shapes = [small.shape(tensor) for tensor in range(len(plan.tensors))]
        self.replicas = range(plan.replicas)
        self.divided = shard_axes(plan)
        self.seeds = frozenset(plan.seeds)
        nodes = [(segment.device, node) for segment in plan.segments for node in segment.nodes]
        self.made = {(device, tensor) for device, node in nodes for tensor in node.outputs}
        loaded = {tensor for _, node in nodes if node.op == LOADER for tensor in node.outputs if tensor != ABSENT}
        self.loaded = {plan.tensors[tensor].logical for tensor in loaded}
        self.operations: dict[int, Operation] = {}
        self.outputs: dict[tuple[object, ...], tuple[Shape, ...]] = {}
        ranks = [Rank(replica, device) for replica in self.replicas for device in range(plan.devices)]
        self.once: dict[Rank, dict[int, V]] = {rank: {} for rank in ranks}
        self.own: dict[tuple[Rank, int], dict[int, V]] = {}
        self.shares: dict[tuple[int, int], V] = {}
        self.filled: dict[tuple[Shape, int], V] = {}

    def run(self) -> None:
        """Run all programs to their ends."""
        walk = lockstep(
            [program(self.plan, calls) for calls in self.plan.programs],
            Handlers(self._local, self._send, self._receive, self._meet),
        )
        if walk.stuck:
            stuck = walk.stuck[0]
            raise on_device(stuck.device, stuck.step).fault(f"it waits for {stuck.awaits} for ever")

    def final(self, rank: Rank, microbatch: int, tensor: int) -> V:
        """What a rank holds of a tensor at the end."""
        return self._read(Site(rank, Step(END, microbatch)), tensor)

    def moments(self, rank: Rank, tensor: int) -> Sequence[int]:
        """The microbatches for which a rank holds a tensor at the end, or that it does so once a step."""
        once = self.kinds[tensor] in PER_STEP or tensor in self.once[rank]
        return (ONCE_A_STEP,) if once else range(self.plan.microbatches)

    def _local(self, device: int, step: Step) -> None:
        handle = {CHUNK: self._chunk, LOADER: self._load}.get(step.node.op, self._compute)
        for replica in self.replicas:
            site = Site(Rank(replica, device), step)
            for tensor, value in zip(step.node.outputs, handle(site), strict=False):
                if tensor != ABSENT:
                    self._write(site, tensor, value)

    def _load(self, site: Site) -> Sequence[V]:
        """The share of this column's batch that each tensor is of."""
        outputs, microbatch = site.step.node.outputs, site.step.microbatch
        if microbatch < 0 or any(tensor == ABSENT or self.kinds[tensor] != INPUT for tensor in outputs):
            raise site.fault("it loads what is no input of a microbatch")
        return [self._share(tensor, self._column(site.rank, microbatch)) for tensor in outputs]

    def _column(self, rank: Rank, microbatch: int) -> int:
        return rank.replica * self.plan.microbatches + microbatch

    def _chunk(self, site: Site) -> Sequence[V | None]:
        tensor = the_input(site)
        shape = self.shapes[tensor]
        axis = axis_of(site, "dim", shape)
        position, pieces = position_in(site)
        if attribute(site.step.node, "replicas"):
            position, pieces = site.rank.replica, self.plan.replicas
        return [piece(self.domain, self._read(site, tensor), shape, axis, position, pieces, site)]

    def _compute(self, site: Site) -> Sequence[V | None]:
        operation = self._operation(site)
        forward = [self._read(site, tensor) for tensor in operation.read.forward]
        grads = [
            self._fill(shape, 0) if tensor == ABSENT else self._read(site, tensor)
            for tensor, shape in zip(site.step.node.inputs, operation.grads, strict=False)
        ]
        made = self.domain.apply(operation, grads, forward, site)
        return [self._cast(value, dtype, site) for value, dtype in zip(made, operation.casts, strict=False)]

    def _operation(self, site: Site) -> Operation:
        """What a node computes; found once for each node."""
        node = site.step.node
        if id(node) not in self.operations:
            read, attrs = reading(node, str(site)), self.small.attrs[signature(node)]
            due = self._made(node._replace(attrs=tuple(sorted(attrs.items()))), read, site)
            made = tuple(self.shapes[tensor] for tensor in read.forward) if read.is_gradient else due
            casts = tuple(cast_of(node, read, self.dtypes, tensor, str(site)) for tensor in node.outputs)
            self.operations[id(node)] = Operation(read, attrs, due[: read.grads], made, casts)
        return self.operations[id(node)]

    def _made(self, node: Node, read: Reading, site: Site) -> tuple[Shape, ...]:
        """The shapes of what an operator makes; found once for all nodes of equal attributes and shapes."""
        tensors = (*node.inputs, *node.outputs)
        key = (node.op, node.attrs, read.grads, *(self.shapes[t] if t != ABSENT else None for t in tensors))
        if key not in self.outputs:
            self.outputs[key] = axes_of(node, read, self.shapes, str(site)).output_shapes
        return self.outputs[key]

    def _cast(self, value: V | None, dtype: str, site: Site) -> V | None:
        return self.domain.cast(value, dtype, site) if dtype and value is not None else value

    def _fill(self, shape: Shape, number: int) -> V:
        if (shape, number) not in self.filled:
            self.filled[shape, number] = self.domain.fill(shape, number)
        return self.filled[shape, number]

    def _send(self, device: int, step: Step) -> list[V]:
        sites = [Site(Rank(replica, device), step) for replica in self.replicas]
        return [self._read(site, the_input(site)) for site in sites]

    def _receive(self, device: int, step: Step, sent: list[V], message: Step) -> None:
        for replica, value in zip(self.replicas, sent, strict=True):
            self._write(Site(Rank(replica, device), step), step.node.outputs[0], value)

    def _meet(self, members: Mapping[int, Step]) -> None:
        ranks = check_group(members)
        first = on_device(ranks[0], members[ranks[0]])
        across, op = bool(attribute(first.step.node, "replicas")), first.step.node.op
        if across and len(ranks) > 1 and op != "all_reduce":
            raise first.fault("a group over replicas of several devices is known for all_reduce alone", ours=True)
        root = attribute(first.step.node, "root")
        if op in ("broadcast", "reduce") and root not in ranks:
            raise first.fault(f"its root {root} is not in its group {list(ranks)}")
        for group in [self.replicas] if across else [[replica] for replica in self.replicas]:
            self._exchange([Site(Rank(replica, device), members[device]) for replica in group for device in ranks])

    def _exchange(self, sites: Sequence[Site]) -> None:
        """One collective of some ranks, in the order of the group."""
        node = sites[0].step.node
        roots = {attribute(node, "root")} if node.op == "broadcast" else {site.rank.device for site in sites}
        entered = [site for site in sites if site.step.node.inputs and site.rank.device in roots]
        values = [self._read(site, the_input(site)) for site in entered]
        if len(values) < (1 if node.op == "broadcast" else len(sites)):
            raise sites[0].fault("some members put nothing in")
        shapes = [self.shapes[the_input(site)] for site in entered]
        received = exchange(self.domain, sites, values, shapes)
        for site, value in zip(sites, received, strict=True):
            for tensor in site.step.node.outputs:
                if tensor != ABSENT:
                    dtype = cast_of_sum(node.op, len(values), self.dtypes[tensor])
                    self._write(site, tensor, self._cast(value, dtype, site))

    def _read(self, site: Site, tensor: int) -> V:
        if tensor == ABSENT:
            raise site.fault("an input is missing")
        value = self._look(site.rank, site.step.source(tensor), tensor)
        if value is None:
            raise site.fault(f"{self._name(tensor)} is read before anything produces it")
        return value

    def _look(self, rank: Rank, microbatch: int, tensor: int) -> V | None:
        """The value of a tensor, None where there is none."""
        kind, once = self.kinds[tensor], self.once[rank]
        if tensor in once:
            return once[tensor]
        if microbatch == ONCE_A_STEP and self.plan.microbatches == 1:
            microbatch = 0
        own = self.own.get((rank, microbatch), {})
        if tensor in own:
            return own[tensor]
        if tensor in self.seeds:
            return self._fill(self.shapes[tensor], 1)
        if kind in (WEIGHT, BUFFER):
            return None if (rank.device, tensor) in self.made else self._share(tensor, rank.replica)
        if kind == ACCUMULATOR:
            return self._fill(self.shapes[tensor], 0)
        if kind == INPUT and microbatch >= 0 and self.plan.tensors[tensor].logical not in self.loaded:
            return self._share(tensor, self._column(rank, microbatch))
        return None

    def _share(self, tensor: int, column: int) -> V:
        """The region of a given tensor that the plan says is held, of one column of the batch, or by one replica."""
        logical, is_input = self.plan.tensors[tensor].logical, self.kinds[tensor] == INPUT
        if not is_input and logical not in self.divided:
            column = 0
        if (tensor, column) not in self.shares:
            partner = self.binding.logical.get(logical)
            if partner is None:
                where = f"{self.kinds[tensor]} {self._name(tensor)}"
                raise Faulty(Fault("no tensor of the single-device plan is this one", where))
            region = region_of_share(self.plan, self.small, self.divided, tensor, 0 if is_input else column)
            batch = self._batch(partner, column) if is_input else ()
            self.shares[tensor, column] = self.domain.given(partner, (*batch, slices(region)))
        return self.shares[tensor, column]

    def _batch(self, partner: int, column: int) -> tuple[tuple[slice, ...], ...]:
        """What takes a column out of a tensor of the single-device plan."""
        if partner not in self.binding.batch:
            return ()
        axis, columns = self.binding.batch[partner]
        size = self.given[partner][axis] // columns
        return ((*(slice(None),) * axis, slice(column * size, (column + 1) * size)),)

    def _write(self, site: Site, tensor: int, value: V | None) -> None:
        if value is None:
            raise site.fault("nothing is made where an output is wanted")
        made, due = self.domain.shape(value), self.shapes[tensor]
        if made not in (due, (*due, 2)):
            raise site.fault(f"it makes shape {list(made)}, not {list(due)}")
        rank, microbatch, kind = site.rank, site.step.microbatch, self.kinds[tensor]
        once = self.once[rank]
        if kind == ACCUMULATOR:
            once[tensor] = self.domain.reduce((once[tensor], value), "sum", site) if tensor in once else value
            return
        if kind in (WEIGHT, BUFFER):
            once[tensor] = value
            return
        known = once if microbatch == ONCE_A_STEP else self.own.setdefault((rank, microbatch), {})
        if tensor in known:
            raise site.fault(f"{self._name(tensor)} is produced twice")
        known[tensor] = value

    def _name(self, tensor: int) -> str:
        return self.plan.logicals[self.plan.tensors[tensor].logical].name
