"""Which tensors communication joins: a walk of all messages and collectives, shapes only.

It also finds what keeps a plan from running at all: deadlocks, members of a group that disagree, messages that
nobody receives, shapes that do not fit together.
"""

from collections.abc import Mapping, Sequence

from verdict.comparison import Fault, Faulty
from verdict.graph import ABSENT, Plan, Shape, extent
from verdict.graph.lockstep import CHUNK, COMMUNICATION, RECV, SEND, Handlers, Step, attribute, lockstep

AGREE = ("ranks", "dim", "split_dim", "concat_dim", "root", "reduce", "replicas")
"""Attributes that all members of a collective must have in common."""


def place(device: int, step: Step) -> str:
    """Where a step stands, for people."""
    return f"{step.node.op} {step.node.name} on device {device}, {step.when}"


def chunks(size: int, pieces: int) -> tuple[tuple[int, int], ...]:
    """The intervals into which torch.chunk cuts `size` elements; of none it makes as many pieces as were asked for."""
    if not size:
        return ((0, 0),) * pieces
    step = -(-size // pieces)
    return tuple((start, min(start + step, size)) for start in range(0, size, step))


def axis_of(step: Step, name: str, shape: Shape, where: str) -> int:
    """The dimension that an attribute names, in a tensor of `shape`."""
    dim = attribute(step.node, name)
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        raise Faulty(Fault(f"{name} {dim} is no dimension of a tensor of {len(shape)} dimensions", where))
    return dim % len(shape)


def position_in(device: int, step: Step, where: str) -> tuple[int, int]:
    """The position of a device in the group that its node names, and the size of the group."""
    ranks = attribute(step.node, "ranks") or ()
    if device not in ranks:
        raise Faulty(Fault(f"device {device} is not in its group {list(ranks)}", where))
    return ranks.index(device), len(ranks)


def the_input(step: Step, where: str) -> int:
    """The only input of a communication node."""
    if len(step.node.inputs) != 1 or step.node.inputs[0] == ABSENT:
        raise Faulty(Fault("it has nothing to send", where))
    return step.node.inputs[0]


def the_output(step: Step, where: str) -> int:
    """The only output of a communication node."""
    if len(step.node.outputs) != 1:
        raise Faulty(Fault(f"it has {len(step.node.outputs)} outputs", where))
    return step.node.outputs[0]


def check_group(members: Mapping[int, Step]) -> tuple[int, ...]:
    """The group of a collective in its order, if all members call the same one."""
    device, first = next(iter(members.items()))
    where = place(device, first)
    ranks = tuple(attribute(first.node, "ranks"))
    if sorted(ranks) != sorted(members) or len(set(ranks)) < len(ranks):
        raise Faulty(Fault(f"devices {sorted(members)} meet in a collective of {list(ranks)}", where))
    for other, step in members.items():
        if step.node.op != first.node.op or step.microbatch != first.microbatch:
            raise Faulty(Fault(f"device {other} takes part with {place(other, step)}", where))
        if any(attribute(step.node, name) != attribute(first.node, name) for name in AGREE):
            raise Faulty(Fault(f"devices {device} and {other} call it with other attributes", where))
    return ranks


def walk_messages(plan: Plan) -> tuple[tuple[int, int], ...]:
    """Pairs of tensors of `plan` that communication joins, dimension by dimension. Raises Faulty."""
    shapes = [extent(tensor.region) for tensor in plan.tensors]
    joined: dict[tuple[int, int], None] = {}
    programs = [
        [
            Step(node, call.microbatch)
            for call in program
            for node in plan.segments[call.segment].nodes
            if node.op in COMMUNICATION or node.op == CHUNK
        ]
        for program in plan.programs
    ]

    for device, program in enumerate(programs):
        for step in program:
            _require_addressed(plan, device, step)

    def chunk(device: int, step: Step) -> None:
        where = place(device, step)
        position_in(device, step, where)
        joined[the_input(step, where), the_output(step, where)] = None

    def receive(device: int, step: Step, sent: int, message: Step) -> None:
        target = the_output(step, place(device, step))
        if shapes[sent] != shapes[target]:
            raise Faulty(
                Fault(f"shape {list(shapes[sent])} arrives, {list(shapes[target])} is stated", place(device, step))
            )
        if message.microbatch != step.microbatch:
            raise Faulty(Fault(f"it receives what was sent in microbatch {message.microbatch}", place(device, step)))
        joined[sent, target] = None

    def meet(members: Mapping[int, Step]) -> None:
        check_group(members)
        tensors = [t for step in members.values() for t in (*step.node.inputs, *step.node.outputs) if t != ABSENT]
        for tensor in tensors[1:]:
            joined[tensors[0], tensor] = None

    walk = lockstep(programs, Handlers(chunk, lambda device, step: the_input(step, place(device, step)), receive, meet))
    _require_ended(walk.stuck, walk.unreceived)
    return tuple(joined)


def _require_addressed(plan: Plan, device: int, step: Step) -> None:
    """A message names its peer, a group its members, all of them devices of the plan."""
    alone = step.node.op in (SEND, RECV)
    found = attribute(step.node, "peer" if alone else "ranks")
    devices = (found,) if alone else found
    if not isinstance(devices, tuple) or not devices or not set(devices) <= set(range(plan.devices)):
        raise Faulty(Fault(f"{found} names no device", place(device, step)))


def _require_ended(stuck: Sequence[tuple[int, Step, object]], unreceived: Sequence[tuple[int, int, Step]]) -> None:
    for device, step, awaits in stuck:
        raise Faulty(Fault(f"it waits for {awaits} for ever", place(device, step)))
    for source, target, step in unreceived:
        raise Faulty(Fault(f"device {target} never receives what it sends", place(source, step)))
