"""A tape for plans by hand: what one device computes forward, and the backward that follows from it.

    tape = Tape(builder, device, group)
    y = tape.op("linear", [x, w], "y", (8, 6))
    tape.backward(loss)

Crossings between the ranks of `group` are recorded with what they do backward: sum/copy, gather/scatter, swap.
"""

from tests.builders import BACKWARD, FORWARD, declare
from verdict.graph import ABSENT, ACCUMULATOR, GRADIENT, INPUT, WEIGHT, extent, whole

CONSTANT = frozenset({"create_mask"})


class Tape:
    """Records one device of a Builder. Handles are tensor numbers of the builder."""

    def __init__(self, builder, device, group):
        self.b, self.device, self.group = builder, device, tuple(group)
        self.rank, self.size = self.group.index(device), len(self.group)
        self.steps, self.trained, self.weights = [], set(), []

    def cut(self, size, rank=None):
        """The interval of an axis of `size` that this rank holds, one of even pieces."""
        step = size // self.size
        rank = self.rank if rank is None else rank
        return rank * step, rank * step + step

    def input(self, name, shape, region=None, dtype="float32"):
        tensor = self.b.tensor(name, shape, INPUT, region, dtype)
        self.b.op(self.device, "dataloader", [], [tensor])
        return tensor

    def weight(self, name, shape, region=None):
        tensor = self.b.tensor(name, shape, WEIGHT, region)
        self.trained.add(tensor)
        self.weights.append(tensor)
        return tensor

    def op(self, op, inputs, name, shape, region=None, **attrs):
        """An operator with one output."""
        return self._record(op, inputs, name, shape, region, attrs, None)

    def total(self, x):
        """Forward the sum over the group, backward nothing."""
        return self._cross("all_reduce", x, None, {"reduce": "sum"}, ("identity", {}))

    def share(self, x):
        """Forward nothing, backward the sum over the group."""
        return self._cross("identity", x, None, {}, ("all_reduce", {"reduce": "sum"}))

    def gather(self, x, dim, sums=True):
        """Forward all pieces along `dim`; backward the sum of the shares of them, or a piece where all are whole."""
        region = self._whole_along(x, dim)
        back = ("reduce_scatter", {"dim": dim}) if sums else ("chunk", {"dim": dim})
        return self._cross("all_gather", x, region, {"dim": dim}, back)

    def scatter(self, x, dim):
        """Forward a piece of the sum along `dim`, backward all pieces."""
        region = self._piece_along(x, dim)
        return self._cross("reduce_scatter", x, region, {"dim": dim}, ("all_gather", {"dim": dim}))

    def swap(self, x, split_dim, concat_dim):
        """all_to_all: this rank's piece along `split_dim` of what all ranks hold along `concat_dim`."""
        region = self._region(self._whole_along(x, concat_dim), split_dim, self.cut(self._shape(x)[split_dim]))
        back = {"split_dim": concat_dim, "concat_dim": split_dim}
        return self._cross(
            "all_to_all", x, region, {"split_dim": split_dim, "concat_dim": concat_dim}, ("all_to_all", back)
        )

    def send(self, x, peer):
        """Hand x to the next stage; `backward` then begins with its gradient, received from there."""
        self.b.op(self.device, "send", [x], [], peer=peer)

    def receive(self, name, shape, peer, region=None):
        """What the stage before sends; its gradient is sent back at the end of `backward`."""
        tensor = self.b.tensor(name, shape, region=region)
        self.b.op(self.device, "recv", [], [tensor], peer=peer)
        self.trained.add(tensor)
        return tensor

    def backward(self, last, peer=None, back_to=None):
        """Walk back from `last`, the loss or what was sent to `peer`. Returns weight -> its local gradient."""
        if peer is None:
            grads = {last: [self.b.seed(self._shape(last))]}
        else:
            arrived = self._like(last, GRADIENT)
            self.b.op(self.device, "recv", [], [arrived], BACKWARD, peer=peer)
            grads = {last: [arrived]}
        for step in reversed(self.steps):
            self._undo(*step, grads)
        received = [t for t in grads if t in self.trained and t not in self.weights and not self._made(t)]
        for tensor in received if back_to is not None else ():
            self.b.op(self.device, "send", [self._sum(grads[tensor])], [], BACKWARD, peer=back_to)
        found = {}
        for weight in self.weights:
            total = self._like(weight, ACCUMULATOR)
            self.b.op(self.device, "identity", [self._sum(grads[weight])], [total], BACKWARD)
            found[weight] = total
        return found

    def declare(self, gradients, over=()):
        """Declare the gradients; those of the weights named in `over` are summed over the group first."""
        for weight, local in gradients.items():
            name = self.b.logicals[self.b.tensors[weight].logical].name
            if name in over:
                total = self._like(weight, GRADIENT)
                self.b.op(self.device, "all_reduce", [local], [total], "once", ranks=self.group, reduce="sum")
                local = total  # noqa: PLW2901
            declare(self.b, self.device, weight, local)

    def _record(self, op, inputs, name, shape, region, attrs, back):
        made = self.b.tensor(name, shape, region=region)
        self.b.op(self.device, op, inputs, [made], FORWARD, **attrs)
        if any(t in self.trained for t in inputs) and op not in CONSTANT:
            self.trained.add(made)
        self.steps.append((op, tuple(inputs), made, attrs, back))
        return made

    def _cross(self, op, x, region, attrs, back):
        logical, own, _ = self.b.tensors[x]
        name, shape, _, kind, _ = self.b.logicals[logical]
        name = f"{name}.whole" if kind == WEIGHT else name
        group = {} if op == "identity" else {"ranks": self.group}
        return self._record(op, [x], name, shape, region or own, {**attrs, **group}, back)

    def _undo(self, op, inputs, made, attrs, back, grads):
        if made not in grads or made not in self.trained:
            return
        arrived = self._sum(grads[made])
        if back is not None:
            (x,) = inputs
            name, more = back
            group = {} if name == "identity" else {"ranks": self.group}
            gradient = self._like(x, GRADIENT)
            self.b.op(self.device, name, [arrived], [gradient], BACKWARD, **more, **group)
            grads.setdefault(x, []).append(gradient)
            return
        outputs = [self._like(x, GRADIENT) if x in self.trained else ABSENT for x in inputs]
        self.b.op(self.device, f"{op}.grad", [arrived, *inputs], outputs, BACKWARD, **attrs)
        for x, gradient in zip(inputs, outputs, strict=True):
            if gradient != ABSENT:
                grads.setdefault(x, []).append(gradient)

    def _sum(self, tensors):
        if len(tensors) == 1:
            return tensors[0]
        logical, region, _ = self.b.tensors[tensors[0]]
        total = self.b.tensor(self.b.logicals[logical].name, self.b.logicals[logical].shape, GRADIENT, region)
        return self.b.op(self.device, "accumulate", tensors, [total], BACKWARD)

    def _like(self, tensor, kind):
        logical, region, _ = self.b.tensors[tensor]
        name, shape, *_ = self.b.logicals[logical]
        return self.b.tensor(f"{name}.{kind}", shape, kind, region)

    def _made(self, tensor):
        return any(step[2] == tensor for step in self.steps)

    def _shape(self, tensor):
        return self.b.logicals[self.b.tensors[tensor].logical].shape

    def _region(self, region, dim, interval):
        return (*region[:dim], interval, *region[dim + 1 :])

    def _whole_along(self, tensor, dim):
        region = self.b.tensors[tensor].region
        return self._region(region, dim, whole(self._shape(tensor))[dim])

    def _piece_along(self, tensor, dim):
        region = self.b.tensors[tensor].region
        start = region[dim][0]
        low, high = self.cut(extent(region)[dim])
        return self._region(region, dim, (start + low, start + high))
