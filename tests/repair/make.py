"""Generated pairs, and single faults in them."""

from dataclasses import replace

from tests.builders import FAST
from verdict.backends.generator import Sizes, generate
from verdict.graph import Node, Plan
from verdict.options import Options
from verdict.phases import Examined, Query, walk
from verdict.repair import repairs
from verdict.report import Repair

SMALL = Sizes(layers=2, hidden=8, heads=2, seq=4, batch=8, dp=2, tp=2, pp=2, microbatches=2, vocab=8, ffn=12)
OPTIONS = Options(solver=FAST, attempts=None)


def pair(model: str = "mlp", **sizes: int) -> tuple[Plan, Plan]:
    return generate(model, Sizes(**{**vars(SMALL), **sizes}))


def looked_at(single: Plan, plan: Plan) -> Examined:
    return walk(Query(single, plan, OPTIONS))


def repaired(single: Plan, plan: Plan, **limits: int) -> tuple[Repair, ...]:
    return repairs(Query(single, plan, replace(OPTIONS, **limits)), looked_at(single, plan))


def first(plan: Plan, op: str, device: int, replicas: bool = False) -> Node:
    """The first node of an operator on a device; of collectives, among replicas or not."""
    return next(
        node
        for segment in plan.segments
        if segment.device == device
        for node in segment.nodes
        if node.op == op and bool(dict(node.attrs).get("replicas")) == replicas
    )
