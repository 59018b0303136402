"""Communication: what its nodes name, and which tensors it joins, found by a walk of all messages, shapes only.

The walk also finds what keeps a plan from running at all: deadlocks, members of a group that disagree, messages that
nobody receives, shapes that do not fit together.
"""

from collections.abc import Mapping, Sequence

from verdict.graph import ABSENT, Plan, Shape
from verdict.graph.lockstep import AGREE, CHUNK, COMMUNICATION, RECV, SEND, Handlers, Step, attribute, lockstep
from verdict.semantics.site import Site, on_device


def axis_of(site: Site, name: str, shape: Shape) -> int:
    """The dimension that an attribute names, in a tensor of `shape`."""
    dim = attribute(site.step.node, name)
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        raise site.fault(f"{name} {dim} is no dimension of a tensor of {len(shape)} dimensions")
    return dim % len(shape)


def position_in(site: Site) -> tuple[int, int]:
    """The position of a device in the group that its node names, and the size of the group."""
    ranks, device = attribute(site.step.node, "ranks") or (), site.rank.device
    if device not in ranks:
        raise site.fault(f"device {device} is not in its group {list(ranks)}")
    return ranks.index(device), len(ranks)


def the_input(site: Site) -> int:
    """The only input of a communication node."""
    inputs = site.step.node.inputs
    if len(inputs) != 1 or inputs[0] == ABSENT:
        raise site.fault("it has nothing to send")
    return inputs[0]


def the_output(site: Site) -> int:
    """The only output of a communication node."""
    outputs = site.step.node.outputs
    if len(outputs) != 1:
        raise site.fault(f"it has {len(outputs)} outputs")
    return outputs[0]


def check_group(members: Mapping[int, Step]) -> tuple[int, ...]:
    """The group of a collective in its order, if all members call the same one."""
    device, first = next(iter(members.items()))
    site, node = on_device(device, first), first.node
    ranks = tuple(attribute(node, "ranks"))
    if sorted(ranks) != sorted(members) or len(set(ranks)) < len(ranks):
        raise site.fault(f"devices {sorted(members)} meet in a collective of {list(ranks)}")
    for other, step in members.items():
        if step.node.op != node.op or step.microbatch != first.microbatch:
            raise site.fault(f"device {other} takes part with {on_device(other, step)}")
        if any(attribute(step.node, name) != attribute(node, name) for name in ("ranks", *AGREE)):
            raise site.fault(f"devices {device} and {other} call it with other attributes")
    return ranks


def walk_messages(plan: Plan) -> tuple[tuple[int, int], ...]:
    """Pairs of tensors of `plan` that communication joins, dimension by dimension. Raises Faulty."""
    shapes = plan.shapes
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
        site = on_device(device, step)
        position_in(site)
        joined[the_input(site), the_output(site)] = None

    def send(device: int, step: Step) -> int:
        return the_input(on_device(device, step))

    def receive(device: int, step: Step, sent: int, message: Step) -> None:
        site = on_device(device, step)
        target = the_output(site)
        if shapes[sent] != shapes[target]:
            raise site.fault(f"shape {list(shapes[sent])} arrives, {list(shapes[target])} is stated")
        if message.microbatch != step.microbatch:
            raise site.fault(f"it receives what was sent in microbatch {message.microbatch}")
        joined[sent, target] = None

    def meet(members: Mapping[int, Step]) -> None:
        check_group(members)
        tensors = [t for step in members.values() for t in (*step.node.inputs, *step.node.outputs) if t != ABSENT]
        for tensor in tensors[1:]:
            joined[tensors[0], tensor] = None

    walk = lockstep(programs, Handlers(chunk, send, receive, meet))
    _require_ended(walk.stuck, walk.unreceived)
    return tuple(joined)


def _require_addressed(plan: Plan, device: int, step: Step) -> None:
    """A message names its peer, a group its members, all of them devices of the plan."""
    alone = step.node.op in (SEND, RECV)
    found = attribute(step.node, "peer" if alone else "ranks")
    devices = (found,) if alone else found
    if not isinstance(devices, tuple) or not devices or not set(devices) <= set(range(plan.devices)):
        raise on_device(device, step).fault(f"{found} names no device")


def _require_ended(stuck: Sequence[tuple[int, Step, object]], unreceived: Sequence[tuple[int, int, Step]]) -> None:
    for device, step, awaits in stuck:
        raise on_device(device, step).fault(f"it waits for {awaits} for ever")
    for source, target, step in unreceived:
        raise on_device(source, step).fault(f"device {target} never receives what it sends")
