"""The schedule of all plan devices, run to its end: groups, order, peers, deadlock.

Replicas run the same programs with shifted groups, so one replica stands for all. Every microbatch is run.
"""

from collections.abc import Mapping, Sequence, Set

from verdict.graph.deadlock import circle, told
from verdict.graph.groups import check_groups
from verdict.graph.lockstep import (
    AGREE,
    COLLECTIVES,
    COMMUNICATION,
    RECV,
    Handlers,
    Step,
    Stuck,
    attribute,
    lockstep,
)
from verdict.graph.microbatches import unlike
from verdict.graph.names import alike
from verdict.graph.noted import Noted
from verdict.graph.plan import Node, Plan
from verdict.graph.received import misfits, no_room
from verdict.outcome import Finding

MEETINGS = "partners"
"""Of what kind findings are of nodes that meet others in other microbatches, which may come to the same."""
MESSAGES_FIRST = "let one of them send what the other waits for before it waits itself"
"""What ends a circle of ranks that wait for messages."""


def check_schedule(plan: Plan) -> tuple[Finding, ...]:
    """Every collective meets its whole group with the same operation, every send its receive, and all end.

    Collectives of one group that follow each other meet together, as long as all members have equally many.
    """
    talking = [tuple(node for node in segment.nodes if node.op in COMMUNICATION) for segment in plan.segments]
    found = _run(plan, [_together(nodes) for nodes in talking])
    return _run(plan, [[(node,) for node in nodes] for nodes in talking]) or () if found is None else found


def _together(nodes: Sequence[Node]) -> list[tuple[Node, ...]]:
    """The nodes of a segment, with collectives of one group that follow each other in one tuple."""
    runs: list[tuple[Node, ...]] = []
    for node in nodes:
        before = runs[-1][-1] if runs else None
        if before and {before.op, node.op} <= COLLECTIVES and attribute(before, "ranks") == attribute(node, "ranks"):
            runs[-1] = (*runs[-1], node)
        else:
            runs.append((node,))
    return runs


def _run(plan: Plan, talking: Sequence[Sequence[tuple[Node, ...]]]) -> tuple[Finding, ...] | None:
    """What is wrong with the schedule; None where nodes that stand in one tuple do not meet all at once.

    talking: the communication of each segment.
    """
    findings = Noted(plan)
    check_groups(plan, findings)
    following = {id(nodes[0]): nodes for segment in talking for nodes in segment}
    programs = [
        [Step(nodes[0], call.microbatch) for call in program for nodes in talking[call.segment]]
        for program in plan.programs
    ]
    uneven: list[Step] = []
    shapes = plan.shapes
    met: dict[int, tuple[int, ...]] = {}
    agreed: set[frozenset[int]] = set()
    paired: set[tuple[int, int]] = set()
    apart = {id(node) for _, segment, _ in unlike(plan) for node in plan.segments[segment].nodes}

    def send(device: int, step: Step) -> tuple[int, ...]:
        return shapes[step.node.inputs[0]]

    def receive(device: int, step: Step, shape: tuple[int, ...], sent: Step) -> None:
        nodes = (id(sent.node), id(step.node))
        if nodes in paired and sent.microbatch == step.microbatch:
            return
        same = _same_partners(findings, met, apart, device, step, (sent,))
        if sent.microbatch != step.microbatch:
            findings.add(
                "wrong-order",
                ("p2p", step.node.name),
                "of another microbatch",
                f"it receives what was sent for {sent.when}",
                device,
                step,
                "send and receive in the same order on both sides",
            )
        elif shapes[step.node.outputs[0]] != shape:
            findings.add(
                "shape-mismatch",
                ("p2p", step.node.name),
                ("shapes", len(shape), alike(sent.node.name)),
                f"it receives shape {list(shape)} from node {sent.node.name}, "
                f"it expects {list(shapes[step.node.outputs[0]])}",
                device,
                step,
            )
        elif problem := no_room(plan, step.node, sent.node):
            findings.add(*problem, device, step, "make room for what is sent")
        elif same:
            paired.add(nodes)

    def meet(members: Mapping[int, Step]) -> None:
        steps = members.values()
        if len({step.microbatch for step in steps}) == 1:
            nodes = frozenset([id(step.node) for step in steps])
            if nodes in agreed:
                return
            agreed.add(nodes)
        runs = [
            [(device, step._replace(node=node)) for node in following[id(step.node)]]
            for device, step in sorted(members.items())
        ]
        if len({len(run) for run in runs}) > 1:
            uneven.extend(steps)
            return
        for (device, first), *others in zip(*runs, strict=True):
            for member, step, problem in misfits(plan, [(device, first), *others]):
                findings.add(*problem, member, step, "make room for what is sent")
            _same_partners(findings, met, apart, device, first, [step for _, step in others])
            for other, step in others:
                _agree(findings, (device, first), (other, step), shapes)

    walk = lockstep(programs, Handlers(lambda device, step: None, send, receive, meet))
    if uneven:
        return None
    _stuck(findings, walk.stuck)
    for source, target, step in walk.unreceived:
        findings.add(
            "send-without-receive",
            (source, target),
            "unreceived",
            f"rank {target} never receives what it sends",
            source,
            step,
            f"add a receive from rank {source} on rank {target}, or correct the peer",
        )
    return findings.all()


def _waits(waiting: Stuck, ring: Sequence[Stuck]) -> str:
    """For whom a rank waits, in words."""
    if waiting in ring and len(ring) > 1:
        return f"ranks {', '.join(str(one.device) for one in ring)} wait for each other for ever"
    awaited = ", ".join(str(rank) for rank in waiting.awaits) or "nobody"
    return f"rank {waiting.device} waits for rank{'s' if len(waiting.awaits) > 1 else ''} {awaited} for ever"


def _same_partners(
    findings: Noted,
    met: dict[int, tuple[int, ...]],
    apart: Set[int],
    device: int,
    step: Step,
    partners: Sequence[Step],
) -> bool:
    """Whether a node meets the same nodes in every microbatch: then one microbatch stands for all.

    apart: nodes of segments in whose place others run for some microbatches, where none stands for all.
    """
    nodes = tuple(id(partner.node) for partner in partners)
    before = met.setdefault(id(step.node), nodes)
    same = before == nodes
    if not same and apart.isdisjoint((id(step.node), *before, *nodes)):
        findings.add(
            "wrong-order",
            (MEETINGS, step.node.name),
            (MEETINGS, *(alike(partner.node.name) for partner in partners)),
            f"it meets {', '.join(partner.node.name for partner in partners)}, and another node in other microbatches",
            device,
            step,
            "let all microbatches communicate in one order",
        )
    return same


def _agree(findings: Noted, one: tuple[int, Step], other: tuple[int, Step], shapes: Sequence[tuple[int, ...]]) -> None:
    (device, first), (peer, step) = one, other
    kind: tuple[str, ...]
    if first.node.op != step.node.op:
        title = f"rank {device} calls {first.node.op} while rank {peer} calls {step.node.op}"
        code, kind = "wrong-collective", (first.node.op, step.node.op)
    elif attribute(first.node, "ranks") != attribute(step.node, "ranks"):
        code, kind = "wrong-group", ("groups",)
        title = (
            f"rank {device} calls it with the group {list(attribute(first.node, 'ranks'))}, "
            f"rank {peer} with {list(attribute(step.node, 'ranks'))}"
        )
    elif first.microbatch != step.microbatch:
        code, kind = "wrong-order", ("microbatches",)
        title = f"rank {peer} takes part for {step.when}, rank {device} for {first.when}"
    elif apart := [name for name in AGREE if attribute(first.node, name) != attribute(step.node, name)]:
        code, kind = "wrong-collective", ("attribute", apart[0])
        title = f"ranks {device} and {peer} call it with another {apart[0]}"
    elif (
        first.node.op == "all_reduce"
        and min(*first.node.inputs, *step.node.inputs) >= 0
        and shapes[first.node.inputs[0]] != shapes[step.node.inputs[0]]
    ):
        code, kind = "shape-mismatch", ("shapes",)
        title = f"ranks {device} and {peer} put in tensors of other shapes"
    else:
        return
    findings.add(code, (first.node.name, step.node.name), kind, title, device, first)


def _stuck(findings: Noted, stuck: Sequence[Stuck]) -> None:
    """Note the ranks that never go on, those first that wait for each other."""
    all_stuck = {waiting.device for waiting in stuck}
    ring = circle(stuck)
    lines, waiting_on = told(ring), {one.device for one in ring}
    for waiting in (*ring, *(other for other in stuck if other.device not in waiting_on)):
        ended = [rank for rank in waiting.awaits if rank not in all_stuck]
        if waiting.step.node.op == RECV and ended:
            code, kind = "receive-without-send", 1
            title = f"rank {ended[0]} ends without sending what it waits for"
        else:
            code, kind = "deadlock", len(waiting.awaits)
            title = _waits(waiting, ring)
        messages = bool(ring) and all(one.step.node.op not in COLLECTIVES for one in ring)
        help_ = MESSAGES_FIRST if messages else "let all members call their collectives in one order"
        findings.add(code, (), kind, title, waiting.device, waiting.step, help_, lines)
