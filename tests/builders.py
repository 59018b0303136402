"""Plans by hand, for tests: a few lines a plan, nothing shared with the backends that make real ones.

plan = Builder(devices=2)
for device in (0, 1):
    x = plan.tensor("x", (4, 6), INPUT)
    y = plan.op(device, "relu", [x], [plan.tensor("y", (4, 6))])
"""

from collections.abc import Callable, Iterable
from dataclasses import replace

from tests.sampled import one_of
from verdict.graph import (
    ABSENT,
    ACCUMULATOR,
    ACTIVATION,
    GRADIENT,
    INPUT,
    ONCE_A_STEP,
    WEIGHT,
    Call,
    Held,
    Logical,
    Node,
    Plan,
    Segment,
    Tensor,
    whole,
)
from verdict.options import Options, SolverOptions
from verdict.phases import Query, walk
from verdict.pipeline import verify
from verdict.report import Report

FAST = SolverOptions(timeout=20, z3=False)
EXPLAINED = 5
"""Where the verdict alone is looked at, what makes plans wrong is asked of one of so many."""
FORWARD, BACKWARD, ONCE = "forward", "backward", "once"
PHASES = (FORWARD, BACKWARD, ONCE)


class Builder:
    """A plan while it is written. Each device has three segments: forward, backward and once a step."""

    def __init__(self, devices=1, replicas=1, microbatches=1):
        self.devices, self.replicas, self.microbatches = devices, replicas, microbatches
        self.logicals, self.tensors = [], []
        self.numbers = {}
        self.nodes = {(device, phase): [] for device in range(devices) for phase in PHASES}
        self.losses, self.gradients, self.seeds = [], [], []

    def tensor(self, name, shape, kind=ACTIVATION, region=None, dtype="float32"):
        """A share of the logical tensor `name`: all of it, or `region`."""
        if name not in self.numbers:
            self.numbers[name] = len(self.logicals)
            self.logicals.append(Logical(name, tuple(shape), dtype, kind, name))
        self.tensors.append(Tensor(self.numbers[name], tuple(region) if region else whole(tuple(shape))))
        return len(self.tensors) - 1

    def op(self, device, op, inputs, outputs, phase=FORWARD, **attrs):
        """One node; returns its first output."""
        outputs = tuple(outputs)
        named = next((t for t in outputs if t != ABSENT), inputs[0] if inputs else ABSENT)
        name = self.logicals[self.tensors[named].logical].name if named != ABSENT else op
        node = Node(op, tuple(inputs), outputs, tuple(sorted(attrs.items())), f"{name}@{op}")
        self.nodes[device, phase].append(node)
        return outputs[0] if outputs else ABSENT

    def loss(self, device, tensor):
        self.losses.append(Held(device, tensor))

    def seed(self, shape=(1,)):
        """The gradient of the loss."""
        self.seeds.append(self.tensor("loss.grad", shape, GRADIENT))
        return self.seeds[-1]

    def gradient(self, device, tensor, weight):
        self.gradients.append(Held(device, tensor, weight))

    def plan(self):
        keys = [(device, phase) for device in range(self.devices) for phase in PHASES]
        segments = tuple(Segment(f"{phase}{at}", at, tuple(self.nodes[at, phase])) for at, phase in keys)
        return Plan(
            source="by hand", format="test", mesh=(("dp", self.replicas), ("device", self.devices)),
            devices=self.devices, replicas=self.replicas, microbatches=self.microbatches,
            logicals=tuple(self.logicals), tensors=tuple(self.tensors), segments=segments,
            programs=tuple(self._program(keys, device) for device in range(self.devices)),
            losses=tuple(self.losses), gradients=tuple(self.gradients), seeds=tuple(self.seeds),
        )  # fmt: skip

    def _program(self, keys, device):
        forward, backward, once = (keys.index((device, phase)) for phase in PHASES)
        calls = [Call(k, m) for k in (forward, backward) for m in range(self.microbatches)]
        return (*calls, Call(once, ONCE_A_STEP)) if self.nodes[device, ONCE] else tuple(calls)


BATCH, HIDDEN, WIDE = 8, 6, 12


def mlp(dp=1, tp=1, pp=1, nm=1, batch=BATCH, wide=WIDE):
    """loss = sum(relu((x * scale) w0^T) w1^T); w0 is split by rows, w1 by columns, pp is 1 or 2 stages.

    Device = stage * tp + tensor rank. The gradient of x * scale is a part on each tensor rank.
    """
    b, rows, step = Builder(tp * pp, dp, nm), batch // (dp * nm), wide // tp
    for stage in range(pp):
        for rank in range(tp):
            device, group = stage * tp + rank, tuple(range(stage * tp, stage * tp + tp))
            cut = (rank * step, rank * step + step)
            first, last = stage == 0, stage == pp - 1
            act = {"shape": (rows, wide), "region": ((0, rows), cut)}
            if first:
                x = b.tensor("x", (rows, HIDDEN), INPUT)
                scale = b.tensor("scale", (HIDDEN,), WEIGHT)
                w0 = b.tensor("w0", (wide, HIDDEN), WEIGHT, (cut, (0, HIDDEN)))
                b.op(device, "dataloader", [], [x])
                xs = b.op(device, "mul", [x, scale], [b.tensor("xs", (rows, HIDDEN))])
                h = b.op(device, "linear", [xs, w0], [b.tensor("h", **act)])
                a = b.op(device, "relu", [h], [b.tensor("a", **act)])
                if not last:
                    b.op(device, "send", [a], [], peer=device + tp)
            else:
                a = b.op(device, "recv", [], [b.tensor("a", **act)], peer=device - tp)
            da = b.tensor("a.grad", kind=GRADIENT, **act)
            if last:
                w1 = b.tensor("w1", (HIDDEN, wide), WEIGHT, ((0, HIDDEN), cut))
                y = b.op(device, "linear", [a, w1], [b.tensor("y", (rows, HIDDEN))])
                if tp > 1:
                    y = b.op(device, "all_reduce", [y], [b.tensor("y", (rows, HIDDEN))], ranks=group, reduce="sum")
                b.loss(device, b.op(device, "sum", [y], [b.tensor("loss", (1,))]))
                dy = b.tensor("y.grad", (rows, HIDDEN), GRADIENT)
                b.op(device, "sum.grad", [b.seed(), y], [dy], BACKWARD)
                dw1 = b.tensor("w1.grad", (HIDDEN, wide), ACCUMULATOR, ((0, HIDDEN), cut))
                b.op(device, "linear.grad", [dy, a, w1], [da, dw1], BACKWARD)
                declare(b, device, w1, dw1)
                if not first:
                    b.op(device, "send", [da], [], BACKWARD, peer=device - tp)
            else:
                b.op(device, "recv", [], [da], BACKWARD, peer=device + tp)
            if first:
                dh = b.op(device, "relu.grad", [da, h], [b.tensor("h.grad", kind=GRADIENT, **act)], BACKWARD)
                dxs = b.tensor("xs.grad", (rows, HIDDEN), GRADIENT)
                dw0 = b.tensor("w0.grad", (wide, HIDDEN), ACCUMULATOR, (cut, (0, HIDDEN)))
                b.op(device, "linear.grad", [dh, xs, w0], [dxs, dw0], BACKWARD)
                if tp > 1:
                    added = b.tensor("xs.grad", (rows, HIDDEN), GRADIENT)
                    dxs = b.op(device, "all_reduce", [dxs], [added], BACKWARD, ranks=group, reduce="sum")
                dscale = b.tensor("scale.grad", (HIDDEN,), ACCUMULATOR)
                b.op(device, "mul.grad", [dxs, x, scale], [ABSENT, dscale], BACKWARD)
                declare(b, device, w0, dw0)
                declare(b, device, scale, dscale)
    return b.plan()


def declare(b, device, weight, local):
    """Declare the gradient of a weight: reduced over the replicas where there are several."""
    held = local
    if b.replicas > 1:
        logical, region, _ = b.tensors[local]
        name, shape, *_ = b.logicals[logical]
        held = b.tensor(f"{name}.reduced", shape, GRADIENT, region)
        b.op(device, "all_reduce", [local], [held], ONCE, ranks=(device,), reduce="sum", replicas=True)
    b.gradient(device, held, weight)


def attrs_of(node: Node) -> dict:
    return dict(node.attrs)


def with_attrs(node: Node, **changed) -> Node:
    """The node with some attributes changed; None removes one."""
    attrs = {name: value for name, value in {**attrs_of(node), **changed}.items() if value is not None}
    return node._replace(attrs=tuple(sorted(attrs.items())))


def rewrite(plan: Plan, change: Callable[[int, Node], Node | Iterable[Node] | None]) -> Plan:
    """The plan with `change(device, node)` in place of every node: a node, several, or None for none."""

    def changed(segment: Segment) -> Segment:
        nodes = []
        for node in segment.nodes:
            found = change(segment.device, node)
            nodes.extend([found] if isinstance(found, Node) else found or ())
        return segment._replace(nodes=tuple(nodes))

    return replace(plan, segments=tuple(changed(segment) for segment in plan.segments))


def rewrite_where(plan: Plan, op: str, change, device: int | None = None, nth: int | None = None) -> Plan:
    """The plan with `change(node)` in place of the nodes of `op` (on `device`, the nth of them); one at least."""
    count = 0

    def each(where, node):
        nonlocal count
        if node.op != op or (device is not None and where != device):
            return node
        count += 1
        return change(node) if nth is None or count - 1 == nth else node

    changed = rewrite(plan, each)
    assert count > (nth or 0), f"no {op} to change"
    return changed


def ask(single: Plan, parallel: Plan, exhaustive=False, assume=(), denied=(), causes=True) -> Report:
    """The report, in this process and without z3. causes: whether it is asked, too, what makes a plan wrong."""
    options = Options(0, 4096, exhaustive, frozenset(assume), frozenset(denied), FAST)
    return verify(single, parallel, options, causes=causes)


def walked(single: Plan, parallel: Plan) -> Report:
    """The report of the walk alone: nothing is run on numbers, and no sweep is asked."""
    return walk(Query(single, parallel, Options(0, solver=FAST))).report


def answer(single: Plan, parallel: Plan, **options) -> str:
    """The name of the verdict; of wrong plans a fifth are explained, too."""
    return ask(single, parallel, **options, causes=one_of(EXPLAINED)).verdict.name


def codes(report: Report) -> set[str]:
    return {finding.code for finding in report.findings}
