"""Run a plan on torch tensors: every device of every replica, every microbatch, with real collectives.

What docs/plan-format.md says: a tensor of kind accumulator is zero at first and grows by whatever produces it; weights
and buffers are the latest that stands there; all else belongs to one microbatch, and is made at most once. An input
that some device loads is there where the loader has run for the microbatch; any other is given.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from verdict.backends.torch.oracle import nodes
from verdict.backends.torch.oracle.groups import exchange, group_of, piece
from verdict.comparison import Fault, Faulty
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
    Plan,
)
from verdict.graph.lockstep import CHUNK, COMMUNICATION, RECV, SEND, Handlers, Step, attribute, lockstep, program

LOADER = "dataloader"


class Rank(NamedTuple):
    """One device of one replica."""

    replica: int
    device: int


Ran = Mapping[tuple[Rank, int, int], Any]
"""What the declared outputs hold: (rank, microbatch, tensor) -> value; ONCE_A_STEP for what is there once."""
Given = Callable[[int, int, int], Any]
"""(tensor, replica, microbatch) -> what a device has of a weight, a buffer or an input. Raises Faulty."""


def execute(plan: Plan, given: Given) -> Ran:
    """Run a plan without effects. Raises Faulty where it cannot be run to its end."""
    return _Machine(plan, given).run()


class _Machine:
    def __init__(self, plan: Plan, given: Given) -> None:
        self.plan, self.given = plan, given
        self.shapes = plan.shapes
        self.kinds = plan.kinds
        self.once: dict[tuple[Rank, int], Any] = {}
        self.own: dict[tuple[Rank, int, int], Any] = {}
        self.seeds = frozenset(plan.seeds)
        each = [(s.device, node) for s in plan.segments for node in s.nodes]
        self.made = {(device, tensor) for device, node in each for tensor in node.outputs}
        self.loaded = {
            plan.tensors[t].logical for _, node in each if node.op == LOADER for t in node.outputs if t != ABSENT
        }

    def require_addressed(self, device: int, step: Step) -> None:
        """A message names its peer, a collective its members, all of them devices of the plan."""
        if step.node.op not in COMMUNICATION:
            return
        alone = step.node.op in (SEND, RECV)
        named = attribute(step.node, "peer" if alone else "ranks")
        devices = (named,) if alone else named
        if not isinstance(devices, tuple) or not devices or not set(devices) <= set(range(self.plan.devices)):
            raise Faulty(Fault(f"{named} names no device", place(device, step)))

    def ranks(self, device: int) -> list[Rank]:
        return [Rank(replica, device) for replica in range(self.plan.replicas)]

    def run(self) -> Ran:
        programs = [program(self.plan, calls) for calls in self.plan.programs]
        for device, steps in enumerate(programs):
            for step in steps:
                self.require_addressed(device, step)
        walk = lockstep(programs, Handlers(self.local, self.send, self.receive, self.meet))
        for stuck in walk.stuck:
            raise Faulty(Fault(f"it waits for {stuck.awaits} for ever", place(stuck.device, stuck.step)))
        for source, target, step in walk.unreceived:
            raise Faulty(Fault(f"device {target} never receives what it sends", place(source, step)))
        return dict(self.ends())

    def local(self, device: int, step: Step) -> None:
        where = place(device, step)
        for rank in self.ranks(device):
            if step.node.op == LOADER:
                found = self.load(rank, step, where)
            elif step.node.op == CHUNK:
                found = [self.chunk(rank, step, where)]
            else:
                found = self.compute(rank, step, where)
            for tensor, value in zip(step.node.outputs, found, strict=True):
                if tensor != ABSENT:
                    self.write(rank, step.microbatch, tensor, value, where)

    def load(self, rank: Rank, step: Step, where: str) -> list[Any]:
        if step.microbatch < 0 or any(t == ABSENT or self.kinds[t] != INPUT for t in step.node.outputs):
            raise Faulty(Fault("it loads what is no input of a microbatch", where))
        return [self.given(tensor, rank.replica, step.microbatch) for tensor in step.node.outputs]

    def chunk(self, rank: Rank, step: Step, where: str) -> Any:
        value = self.read(rank, step, self.only(step.node.inputs, where), where)
        if attribute(step.node, "replicas"):
            return piece(value, attribute(step.node, "dim"), rank.replica, self.plan.replicas, where)
        ranks = attribute(step.node, "ranks") or ()
        if rank.device not in ranks:
            raise Faulty(Fault(f"device {rank.device} is not in its group {list(ranks)}", where))
        return piece(value, attribute(step.node, "dim"), ranks.index(rank.device), len(ranks), where)

    def compute(self, rank: Rank, step: Step, where: str) -> list[Any]:
        node, attrs = step.node, dict(step.node.attrs)
        if not nodes.known(node.op):
            raise Faulty(Fault(f"operator {node.op} has no rule", where, ours=True))
        grads = len(node.inputs) - len(node.outputs) if node.op.endswith(GRAD) else 0
        try:
            if not node.op.endswith(GRAD):
                present = [tensor for tensor in node.inputs if tensor != ABSENT or node.op != "accumulate"]
                found = nodes.forward(node.op, [self.read(rank, step, tensor, where) for tensor in present], attrs)
                if len(found) < len(node.outputs):
                    raise Faulty(Fault(f"it makes {len(found)} outputs", where))
                return list(found[: len(node.outputs)])
            if grads < 1:
                raise Faulty(Fault("a gradient node reads no gradient", where))
            pulled = [None if t == ABSENT else self.read(rank, step, t, where) for t in node.inputs[:grads]]
            inputs = [self.read(rank, step, tensor, where) for tensor in node.inputs[grads:]]
            return list(nodes.gradient(node.op.removesuffix(GRAD), inputs, pulled, attrs))
        except nodes.REFUSALS as error:
            raise Faulty(Fault(f"torch cannot compute it: {str(error).splitlines()[0]}", where)) from error

    def send(self, device: int, step: Step) -> dict[int, Any]:
        where = place(device, step)
        tensor = self.only(step.node.inputs, where)
        return {rank.replica: self.read(rank, step, tensor, where) for rank in self.ranks(device)}

    def receive(self, device: int, step: Step, values: dict[int, Any], sent: Step) -> None:
        where = place(device, step)
        if sent.microbatch != step.microbatch:
            raise Faulty(Fault(f"it receives what was sent in microbatch {sent.microbatch}", where))
        for rank in self.ranks(device):
            self.write(rank, step.microbatch, self.only(step.node.outputs, where), values[rank.replica], where)

    def meet(self, members: Mapping[int, Step]) -> None:
        ranks = group_of(members, place)
        first = members[ranks[0]]
        where = place(ranks[0], first)
        across = bool(attribute(first.node, "replicas"))
        everyone = [Rank(replica, device) for replica in range(self.plan.replicas) for device in ranks]
        groups = [everyone] if across else [[r for r in everyone if r.replica == k] for k in range(self.plan.replicas)]
        root = attribute(first.node, "root")
        for group in groups:
            self.require_made(group, where)
            given = [self.entered(rank, members[rank.device], root) for rank in group]
            if across and len(ranks) > 1 and first.node.op != "all_reduce":
                raise Faulty(Fault("several devices over replicas are a group for all_reduce alone", where, True))
            found = exchange(first, [rank.device for rank in group], given, where)
            for rank, value in zip(group, found, strict=True):
                step = members[rank.device]
                for tensor in step.node.outputs:
                    if tensor != ABSENT:
                        self.write(rank, step.microbatch, tensor, value, place(rank.device, step))

    def require_made(self, group: list[Rank], where: str) -> None:
        """Where a plan states which groups its program makes, there are these, that of all ranks, and single ranks."""
        numbers = {rank.replica * self.plan.devices + rank.device for rank in group}
        known = [set(group) for group in self.plan.groups]
        if known and 1 < len(numbers) < self.plan.devices * self.plan.replicas and numbers not in known:
            raise Faulty(Fault(f"nobody makes the group {sorted(numbers)}", where))

    def entered(self, rank: Rank, step: Step, root: int | None) -> Any:
        if not step.node.inputs or (step.node.op == "broadcast" and rank.device != root):
            return None
        where = place(rank.device, step)
        return self.read(rank, step, self.only(step.node.inputs, where), where)

    def only(self, tensors: tuple[int, ...], where: str) -> int:
        if len(tensors) != 1 or tensors[0] == ABSENT:
            raise Faulty(Fault(f"it moves one tensor, found {len(tensors)}", where))
        return tensors[0]

    def read(self, rank: Rank, step: Step, tensor: int, where: str) -> Any:
        if tensor == ABSENT:
            raise Faulty(Fault("an input is missing", where))
        value = self.look(rank, step.source(tensor), tensor)
        if value is None:
            raise Faulty(Fault(f"{self.name(tensor)} is read before anything produces it", where))
        return value

    def look(self, rank: Rank, microbatch: int, tensor: int) -> Any:
        if (rank, tensor) in self.once:
            return self.once[rank, tensor]
        if microbatch == ONCE_A_STEP and self.plan.microbatches == 1:
            microbatch = 0
        if (rank, microbatch, tensor) in self.own:
            return self.own[rank, microbatch, tensor]
        logical = self.plan.logicals[self.plan.tensors[tensor].logical]
        if tensor in self.seeds:
            return nodes.filled(self.shapes[tensor], 1, logical.dtype)
        match self.kinds[tensor]:
            case "weight" | "buffer":
                made = (rank.device, tensor) in self.made
                return None if made else self.given(tensor, rank.replica, ONCE_A_STEP)
            case "accumulator":
                return nodes.filled(self.shapes[tensor], 0, logical.dtype)
            case "input" if microbatch >= 0 and self.plan.tensors[tensor].logical not in self.loaded:
                return self.given(tensor, rank.replica, microbatch)
        return None

    def write(self, rank: Rank, microbatch: int, tensor: int, value: Any, where: str) -> None:
        if value is None:
            raise Faulty(Fault("nothing is made where an output is wanted", where))
        stated = self.plan.logicals[self.plan.tensors[tensor].logical].dtype
        if nodes.is_whole(stated) and (value.is_floating_point() or value.is_complex()):
            raise Faulty(Fault(f"it makes floats where the plan states {stated}", where))
        wanted = self.shapes[tensor]
        if tuple(value.shape) != wanted and value.numel() == 1 and wanted in ((), (1,)) and value.ndim < 2:
            value = value.reshape(wanted)
        if tuple(value.shape) != wanted:
            raise Faulty(Fault(f"it makes shape {list(value.shape)}, not {list(wanted)}", where))
        if self.kinds[tensor] == ACCUMULATOR:
            before = self.once.get((rank, tensor))
            self.once[rank, tensor] = value if before is None else before + value
        elif self.kinds[tensor] in (WEIGHT, BUFFER):
            self.once[rank, tensor] = value
        elif microbatch == ONCE_A_STEP:
            self.require_new((rank, tensor) in self.once, tensor, where)
            self.once[rank, tensor] = value
        else:
            self.require_new((rank, microbatch, tensor) in self.own, tensor, where)
            self.own[rank, microbatch, tensor] = value

    def require_new(self, there: bool, tensor: int, where: str) -> None:
        if there:
            raise Faulty(Fault(f"{self.name(tensor)} is produced twice", where))

    def name(self, tensor: int) -> str:
        return self.plan.logicals[self.plan.tensors[tensor].logical].name

    def ends(self) -> Iterator[tuple[tuple[Rank, int, int], Any]]:
        """What every rank holds of what is declared, in every microbatch or once; a gradient is there once."""
        for held in self.plan.gradients:
            yield from self.held(held, [ONCE_A_STEP])
        for held in (*self.plan.losses, *self.plan.outputs):
            once = self.kinds[held.tensor] in PER_STEP or (Rank(0, held.device), held.tensor) in self.once
            yield from self.held(held, [ONCE_A_STEP] if once else range(self.plan.microbatches))

    def held(self, held: Held, microbatches: Iterable[int]) -> Iterator[tuple[tuple[Rank, int, int], Any]]:
        for rank in self.ranks(held.device):
            for microbatch in microbatches:
                value = self.look(rank, microbatch, held.tensor)
                if value is None:
                    where = f"the end of the step on device {held.device}"
                    raise Faulty(Fault(f"{self.name(held.tensor)} is read before anything produces it", where))
                yield (rank, microbatch, held.tensor), value


def place(device: int, step: Step) -> str:
    """Where a step stands, for people."""
    when = f"microbatch {step.microbatch}" if step.microbatch != ONCE_A_STEP else "once a step"
    return f"{step.node.op} {step.node.name} on device {device}, {when}"
