"""Run the programs of all plan devices side by side: collectives meet, sends are received in order.

Sends are buffered (a sender goes on), receives wait, and a collective waits for every member of its group.
What a step means is the caller's: the schedule check, the propagation of lineages and a concrete run all
use this one walk.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from verdict.graph.plan import ONCE_A_STEP, Call, Node, Plan

SEND, RECV, CHUNK, LOADER = "send", "recv", "chunk", "dataloader"
COLLECTIVES = frozenset({"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce"})
COMMUNICATION = COLLECTIVES | {SEND, RECV}
AGREE = ("dim", "split_dim", "concat_dim", "root", "reduce", "replicas")
"""What all members of a group must say alike of a collective, beside the group itself."""


class Step(NamedTuple):
    """One node of one device's program, the microbatch it runs for, and what it takes from others: see `Call`."""

    node: Node
    microbatch: int
    crossed: tuple[tuple[int, int], ...] = ()

    @property
    def when(self) -> str:
        """For which microbatch it runs, in words."""
        return "once a step" if self.microbatch == ONCE_A_STEP else f"microbatch {self.microbatch}"

    def source(self, tensor: int) -> int:
        """The microbatch whose `tensor` is read."""
        return dict(self.crossed).get(tensor, self.microbatch) if self.crossed else self.microbatch


class Stuck(NamedTuple):
    """A device that never gets past `step`, and the devices that it waits for."""

    device: int
    step: Step
    awaits: tuple[int, ...]


class Walk(NamedTuple):
    """How the walk ended: who is stuck, and the sends that nobody received as (source, target, step)."""

    stuck: tuple[Stuck, ...]
    unreceived: tuple[tuple[int, int, Step], ...]


class Handlers(NamedTuple):
    """What to do at each step. `local` for all that does not communicate; `meet` gets device -> step."""

    local: Callable[[int, Step], None]
    send: Callable[[int, Step], Any]
    receive: Callable[[int, Step, Any, Step], None]
    meet: Callable[[Mapping[int, Step]], None]


def program(plan: Plan, calls: Sequence[Call]) -> list[Step]:
    """The steps of a device's calls, in their order."""
    return [
        Step(node, call.microbatch, call.crossed) for call in calls for node in plan.segments[call.segment].nodes
    ]


def attribute(node: Node, name: str) -> Any:
    """The value of an attribute of `node`, None where it has none of that name."""
    for key, value in node.attrs:
        if key == name:
            return value
    return None


def _address(known: dict[int, Any], node: Node) -> Any:
    """Whom a communication node speaks to: its peer, or its sorted group. Looked up once for each node."""
    address = known.get(id(node))
    if address is None:
        peer = attribute(node, "peer")
        address = known[id(node)] = tuple(sorted(attribute(node, "ranks"))) if peer is None else peer
    return address


def lockstep(programs: Sequence[Sequence[Step]], handlers: Handlers) -> Walk:
    """Walk all programs to their ends, or until nobody can move."""
    position = [0] * len(programs)
    mail: dict[tuple[int, int], deque[tuple[Any, Step]]] = defaultdict(deque)
    arrived: dict[tuple[int, ...], dict[int, Step]] = defaultdict(dict)
    receiving: dict[int, int] = {}
    ready = deque(range(len(programs)))
    addresses: dict[int, Any] = {}
    local, send, receive, meet = handlers
    while ready:
        device = ready.popleft()
        program = programs[device]
        receiving.pop(device, None)
        at, end = position[device], len(program)
        while at < end:
            step = program[at]
            op = step.node.op
            if op not in COMMUNICATION:
                local(device, step)
            elif op == SEND:
                peer = _address(addresses, step.node)
                mail[device, peer].append((send(device, step), step))
                if receiving.get(peer) == device:
                    ready.append(peer)
            elif op == RECV:
                peer = _address(addresses, step.node)
                if not mail[peer, device]:
                    receiving[device] = peer
                    break
                value, sent = mail[peer, device].popleft()
                receive(device, step, value, sent)
            else:
                group = _address(addresses, step.node)
                members = arrived[group]
                members[device] = step
                if len(members) < len(group) or any(member not in members for member in group):
                    break
                del arrived[group]
                meet(members)
                for member in members:
                    if member != device:
                        position[member] += 1
                        ready.append(member)
            at += 1
        position[device] = at

    def awaits(node: Node) -> tuple[int, ...]:
        address = _address(addresses, node)
        return (address,) if node.op == RECV else tuple(rank for rank in address if rank not in arrived[address])

    return Walk(
        stuck=tuple(
            Stuck(device, program[at], awaits(program[at].node))
            for device, (program, at) in enumerate(zip(programs, position, strict=True))
            if at < len(program)
        ),
        unreceived=tuple(
            (source, target, step) for (source, target), queue in sorted(mail.items()) for _, step in queue
        ),
    )
