"""The schedule of all plan devices, run to its end: groups, order, peers, deadlock.

Replicas run the same programs with shifted groups, so one replica stands for all. Every microbatch is run.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from verdict.graph.deadlock import circle, told
from verdict.graph.fault import Fault, Place
from verdict.graph.lockstep import (
    AGREE,
    CHUNK,
    COLLECTIVES,
    COMMUNICATION,
    RECV,
    Handlers,
    Step,
    Stuck,
    attribute,
    lockstep,
)
from verdict.graph.plan import ONCE_A_STEP, Node, Plan
from verdict.graph.received import misfits, no_room
from verdict.graph.region import extent
from verdict.outcome import Finding


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
    findings = _Findings(plan)
    _groups(plan, findings)
    following = {id(nodes[0]): nodes for segment in talking for nodes in segment}
    programs = [
        [Step(nodes[0], call.microbatch) for call in program for nodes in talking[call.segment]]
        for program in plan.programs
    ]
    uneven: list[Step] = []
    shapes = [extent(tensor.region) for tensor in plan.tensors]
    met: dict[int, tuple[int, ...]] = {}
    agreed: set[frozenset[int]] = set()
    paired: set[tuple[int, int]] = set()

    def send(device: int, step: Step) -> tuple[int, ...]:
        return shapes[step.node.inputs[0]]

    def receive(device: int, step: Step, shape: tuple[int, ...], sent: Step) -> None:
        nodes = (id(sent.node), id(step.node))
        if nodes in paired and sent.microbatch == step.microbatch:
            return
        same = _same_partners(findings, met, device, step, (sent,))
        if sent.microbatch != step.microbatch:
            findings.add(
                "wrong-order",
                ("p2p", step.node.name),
                f"it receives what was sent for {sent.when}",
                device,
                step,
                "send and receive in the same order on both sides",
            )
        elif shapes[step.node.outputs[0]] != shape:
            findings.add(
                "shape-mismatch",
                ("p2p", step.node.name),
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
            _same_partners(findings, met, device, first, [step for _, step in others])
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
            f"rank {target} never receives what it sends",
            source,
            step,
            f"add a receive from rank {source} on rank {target}, or correct the peer",
        )
    return findings.all()


class _Findings:
    """Findings, one for each cause, with the places at which it shows."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.found: dict[tuple[object, ...], Finding] = {}
        self.places: dict[tuple[object, ...], list[Place]] = defaultdict(list)

    def add(
        self, code: str, root: tuple[object, ...], title: str, device: int, step: Step, help_: str = "",
        notes: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        where = f"{step.node.op} {step.node.name} on rank {device}, {step.when}"
        self.found.setdefault((code, *root), Finding(code, title, where, notes, help_))
        self.places[code, *root].append(Place(device, step.microbatch, step.node.name, step.node.op))

    def all(self) -> tuple[Finding, ...]:
        return tuple(
            replace(finding, extent=len(self.places[key]), evidence=Fault(tuple(self.places[key])))
            for key, finding in self.found.items()
        )


def _groups(plan: Plan, findings: _Findings) -> None:
    """Every member that a collective names takes part in it, with the same group."""
    taking_part: dict[tuple[object, object], set[int]] = defaultdict(set)
    unmade = _unmade(plan)
    steps = []
    for segment in plan.segments:
        for node in segment.nodes:
            if node.op in COLLECTIVES or node.op == CHUNK:
                key = (attribute(node, "channel"), attribute(node, "ranks"))
                taking_part[key].add(segment.device)
                steps.append((segment.device, Step(node, ONCE_A_STEP), key))
    for device, step, key in steps:
        ranks = attribute(step.node, "ranks")
        absent = unmade(plan, step.node)
        if device not in ranks:
            title = f"rank {device} is not a member of the group {list(ranks)} that it calls"
        elif absent:
            title = f"the group {list(absent)} that it asks for is none of the groups that the program makes"
        elif step.node.op == CHUNK or key[0] is None:
            continue
        elif missing := [rank for rank in ranks if rank not in taking_part[key]]:
            title = f"of its group {list(ranks)}, rank {missing[0]} takes no part in it"
        else:
            continue
        findings.add(
            "wrong-group",
            (step.node.op, ranks),
            title,
            device,
            step,
            "every member of a group must call the collective with the same group",
        )


def _unmade(plan: Plan) -> Callable[[Plan, Node], tuple[int, ...]]:
    """Of a node, the group that it asks for on some replica and that the program does not make; empty for none.

    Where the program says which groups it makes, another one is asked for by its members alone, and waits for all ranks
    (torch.distributed.new_group). The group of all ranks is always there, and a rank by itself needs none.
    """
    made = {frozenset(group) for group in plan.groups}
    shifts = range(0, plan.ranks, plan.devices)
    known: dict[tuple[object, object], tuple[int, ...]] = {}

    def unmade(plan: Plan, node: Node) -> tuple[int, ...]:
        key = attribute(node, "ranks"), attribute(node, "replicas")
        if made and key not in known:
            asked = [[rank + shift for rank in key[0]] for shift in shifts]
            asked = [[rank for group in asked for rank in group]] if key[1] else asked
            absent = (group for group in asked if frozenset(group) not in made and 1 < len(group) < plan.ranks)
            known[key] = tuple(sorted(next(absent, ())))
        return known.get(key, ())

    return unmade


def _same_partners(
    findings: _Findings, met: dict[int, tuple[int, ...]], device: int, step: Step, partners: Sequence[Step]
) -> bool:
    """Whether a node meets the same nodes in every microbatch: then one microbatch stands for all."""
    nodes = tuple(id(partner.node) for partner in partners)
    same = met.setdefault(id(step.node), nodes) == nodes
    if not same:
        findings.add(
            "wrong-order",
            ("partners", step.node.name),
            f"it meets {', '.join(partner.node.name for partner in partners)}, and another node in other microbatches",
            device,
            step,
            "let all microbatches communicate in one order",
        )
    return same


def _agree(findings: _Findings, one: tuple[int, Step], other: tuple[int, Step], shapes: list[tuple[int, ...]]) -> None:
    (device, first), (peer, step) = one, other
    if first.node.op != step.node.op:
        title = f"rank {device} calls {first.node.op} while rank {peer} calls {step.node.op}"
        code = "wrong-collective"
    elif attribute(first.node, "ranks") != attribute(step.node, "ranks"):
        code = "wrong-group"
        title = (
            f"rank {device} calls it with the group {list(attribute(first.node, 'ranks'))}, "
            f"rank {peer} with {list(attribute(step.node, 'ranks'))}"
        )
    elif first.microbatch != step.microbatch:
        code = "wrong-order"
        title = f"rank {peer} takes part for {step.when}, rank {device} for {first.when}"
    elif apart := [name for name in AGREE if attribute(first.node, name) != attribute(step.node, name)]:
        code, title = "wrong-collective", f"ranks {device} and {peer} call it with another {apart[0]}"
    elif (
        first.node.op == "all_reduce"
        and min(*first.node.inputs, *step.node.inputs) >= 0
        and shapes[first.node.inputs[0]] != shapes[step.node.inputs[0]]
    ):
        code, title = "shape-mismatch", f"ranks {device} and {peer} put in tensors of other shapes"
    else:
        return
    findings.add(code, (first.node.name, step.node.name), title, device, first)


def _stuck(findings: _Findings, stuck: Sequence[Stuck]) -> None:
    """Note the ranks that never go on, those first that wait for each other."""
    all_stuck = {waiting.device for waiting in stuck}
    ring = circle(stuck)
    lines, waiting_on = told(ring), {one.device for one in ring}
    for waiting in (*ring, *(other for other in stuck if other.device not in waiting_on)):
        ended = [rank for rank in waiting.awaits if rank not in all_stuck]
        awaited = ", ".join(str(rank) for rank in waiting.awaits) or "nobody"
        if waiting.step.node.op == RECV and ended:
            code, title = "receive-without-send", f"rank {ended[0]} ends without sending what it waits for"
        else:
            code, title = "deadlock", f"it waits for rank {awaited} for ever"
        help_ = "let all members call their collectives in one order"
        findings.add(code, (), title, waiting.device, waiting.step, help_, lines)
