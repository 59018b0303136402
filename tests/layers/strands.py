"""Plans of one device: a chain of equal layers, and beside it a strand that each layer carries on."""

from tests.layers.chains import forward
from verdict.graph import ACTIVATION, INPUT, WEIGHT, Held, Logical, Node, Segment, Tensor, whole

SHAPE = (4, 4)
OPS = ("tanh", "relu") * 3 + ("tanh",)
"""What a layer consists of behind its product, and before its own sigmoid."""


class Strands:
    """A plan in the making. own: what each layer made so far. x: what all of them may read. attrs: those met."""

    def __init__(self):
        self.logicals, self.nodes, self.own, self.attrs = [], [], [], {}
        self.x = self.given("x", INPUT)

    def given(self, name, kind, shape=SHAPE):
        self.logicals.append(Logical(name, shape, "float32", kind))
        return len(self.logicals) - 1

    def node(self, op, reads, name, shape=SHAPE, **attrs):
        made = self.given(name, ACTIVATION, shape)
        known = tuple(attrs.items())
        self.nodes.append(Node(op, tuple(reads), (made,), self.attrs.setdefault(known, known), name))
        return made

    def plan(self, outputs):
        tensors = [Tensor(k, whole(logical.shape)) for k, logical in enumerate(self.logicals)]
        segment = Segment("forward", 0, tuple(self.nodes))
        return forward("strands", self.logicals, tensors, [segment], [Held(0, tensor) for tensor in outputs])


def strands(layers, begin, carry, end):
    """A plan of so many layers, which declares what the last one made, and what is told of the strand.

    begin: of a plan what the strand begins with. carry: of a plan, a layer and what the strand is, what it is behind
    this layer. end: of a plan, what the strand began with, and what it is in the end, the tensor that is declared.
    """
    made = Strands()
    at, first = made.x, begin(made)
    strand = first
    for k in range(layers):
        at = made.node("linear", (at, made.given(f"w{k}", WEIGHT)), f"product.{k}")
        for number, op in enumerate(OPS):
            at = made.node(op, (at,), f"{op}{number}.{k}")
        made.own.append(made.node("sigmoid", (at,), f"own.{k}"))
        strand = carry(made, k, strand)
    return made.plan((made.node("relu", (at,), "y"), made.node("identity", (end(made, first, strand),), "strand")))
