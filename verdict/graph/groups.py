"""The groups of collectives: every member takes part, and a program that makes its groups makes this one."""

from collections import defaultdict
from collections.abc import Callable

from verdict.graph.lockstep import CHUNK, COLLECTIVES, Step, attribute
from verdict.graph.noted import Noted
from verdict.graph.plan import ONCE_A_STEP, Node, Plan


def check_groups(plan: Plan, findings: Noted) -> None:
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
            kind, title = "foreign", f"rank {device} is not a member of the group {list(ranks)} that it calls"
        elif absent:
            kind = "unmade"
            title = f"the group {list(absent)} that it asks for is none of the groups that the program makes"
        elif step.node.op == CHUNK or key[0] is None:
            continue
        elif missing := [rank for rank in ranks if rank not in taking_part[key]]:
            kind, title = "absent", f"of its group {list(ranks)}, rank {missing[0]} takes no part in it"
        else:
            continue
        findings.add(
            "wrong-group",
            (step.node.op, ranks),
            (kind, len(ranks)),
            title,
            device,
            step,
            "every member of a group must call the collective with the same group",
            always=True,
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
