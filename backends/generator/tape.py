"""A tape: the program of one device while it is recorded, forward by the model, backward by walking back.

Tensor parallelism is Megatron's. Every tensor lies on the tp ranks of a stage in one of three ways: whole on each,
split evenly along one axis, or as addends of a sum. Two crossings lead from one to another:

    enter(x)   forward nothing         backward all_reduce    before linears whose rows are split
    leave(y)   forward all_reduce      backward nothing       after linears whose columns are split

A value is used once. One that is used several times is copied by `multiref`, whose gradient adds; only weights are
used as often as one likes, and add up their gradients in an accumulator. `weights`: the accumulator of each.
"""

from collections.abc import Hashable
from typing import NamedTuple

from backends.generator.draft import Draft
from verdict.graph import ABSENT, ACCUMULATOR, ACTIVATION, BUFFER, GRADIENT, INPUT, WEIGHT, Node, Shape


class Value(NamedTuple):
    """A tensor of the device that is recorded. `shape` is that of the logical tensor, which tp ranks share.

    split: the axis that the tp ranks divide. addend: each tp rank has one addend of it.
    entered: it has passed `enter`, so each tp rank sees only its own use of it, and its gradient is an addend.
    trained: the loss depends on it differentiably. use: tells handles of one tensor apart.
    """

    tensor: int
    use: int
    name: str
    shape: Shape
    dtype: str
    split: int | None = None
    addend: bool = False
    entered: bool = False
    trained: bool = True
    kind: str = ACTIVATION


class _Step(NamedTuple):
    """What walking back undoes: an operator, or one of the crossings `enter` and `leave`."""

    op: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    attrs: dict[str, Hashable]
    name: str


_ENTER, _LEAVE = "enter", "leave"


class Tape:
    """Records one device: number `tp_rank` of the `tp` devices `group`, which split the tensors of one stage."""

    def __init__(self, draft: Draft, group: tuple[int, ...], tp_rank: int, rows: int) -> None:
        self.rows = rows
        self.tp = len(group)
        self.tp_rank = tp_rank
        self.forward: list[Node] = []
        self.backward: list[Node] = []
        self.weights: dict[int, int] = {}
        self.gradients: dict[int, int] = {}
        self._draft = draft
        self._group = group
        self._steps: list[_Step] = []
        self._kept: dict[str, Value] = {}
        self._uses = 0

    def local(self, size: int) -> int:
        """This device's share of an axis of `size` that the tp ranks divide."""
        return size // self.tp

    def load(self, name: str, shape: Shape, dtype: str) -> Value:
        """An input of the model: the rows of this column."""
        value = self._value(name, shape, dtype, kind=INPUT, trained=False)
        self._emit("dataloader", (), (value.tensor,), {}, name)
        return value

    def weight(self, name: str, shape: Shape, split: int | None = None, dtype: str = "float32") -> Value:
        """A trainable weight: one on each device, however often it is asked for; its gradients add up."""
        if name not in self._kept:
            self._kept[name] = self._value(name, shape, dtype, split=split, kind=WEIGHT)
        return self._kept[name]

    def buffer(self, name: str, shape: Shape, dtype: str) -> Value:
        """A constant tensor of the model: one on each device, however often it is asked for."""
        if name not in self._kept:
            self._kept[name] = self._value(name, shape, dtype, kind=BUFFER, trained=False)
        return self._kept[name]

    def boundary(self, name: str, shape: Shape, split: int | None = None, trained: bool = True) -> Value:
        """An activation that arrives from the stage before."""
        return self._value(name, shape, "float32", split=split, trained=trained)

    def op(
        self,
        op: str,
        inputs: tuple[Value, ...],
        name: str,
        *outputs: Shape,
        split: int | None = None,
        dtype: str = "float32",
        addend: bool = False,
        entered: bool = False,
        integers: tuple[int, ...] = (),
        attrs: dict[str, Hashable] | None = None,
    ) -> tuple[Value, ...]:
        """Record an operator; its outputs are called `name`, or `name`.0, `name`.1, ... where there are several.

        integers: which of the outputs are integers, and so without a gradient.
        """
        trained = any(value.trained for value in inputs)
        values = tuple(
            self._value(
                f"{name}.{at}" if len(outputs) > 1 else name, shape, "int64" if at in integers else dtype,
                split, addend, entered, trained and at not in integers,
            )
            for at, shape in enumerate(outputs)
        )  # fmt: skip
        return self._record(op, inputs, values, attrs or {}, name)

    def multiref(self, x: Value, times: int) -> tuple[Value, ...]:
        """As many handles of x; its gradient is the sum of theirs."""
        return self.op(
            "multiref", (x,), f"{x.name}.ref", *[x.shape] * times, split=x.split, dtype=x.dtype,
            entered=x.entered, attrs={"times": times},
        )  # fmt: skip

    def enter(self, x: Value) -> Value:
        """x for linears whose rows the tp ranks split."""
        if self.tp == 1:
            return x
        entered = x._replace(use=self._next_use(), entered=True)
        if x.trained:
            self._steps.append(_Step(_ENTER, (x,), (entered,), {}, x.name))
        return entered

    def leave(self, y: Value) -> Value:
        """The sum of the addends that the tp ranks have of y."""
        if not y.addend:
            return y
        whole = self._value(y.name, y.shape, y.dtype)
        self._all_reduce(self.forward, y.tensor, whole.tensor, y.name)
        self._steps.append(_Step(_LEAVE, (y,), (whole,), {}, y.name))
        return whole

    def walk_back(self, last: Value, gradient: int) -> None:
        """Record the backward, from `gradient`, that of `last`, to the gradients of weights and of the boundary."""
        self.gradients[last.use] = gradient
        for step in reversed(self._steps):
            if step.op == _ENTER:
                self._undo_enter(step)
            elif step.op == _LEAVE:
                self.gradients[step.inputs[0].use] = self.gradients[step.outputs[0].use]
            else:
                self._undo(step)

    def gradient(self, value: Value) -> int:
        """A new tensor for the gradient of `value`."""
        kind = ACCUMULATOR if value.kind == WEIGHT else GRADIENT
        return self._tensor(f"{value.name}.grad", value.shape, value.dtype, kind, value.split, value.entered)

    def _undo(self, step: _Step) -> None:
        grads = tuple(self.gradients[output.use] if output.trained else ABSENT for output in step.outputs)
        outputs = tuple(self._gradient_of(value) if value.trained else ABSENT for value in step.inputs)
        inputs = (*grads, *(value.tensor for value in step.inputs))
        self.backward.append(self._draft.node(f"{step.op}.grad", inputs, outputs, step.attrs, step.name))

    def _gradient_of(self, value: Value) -> int:
        """Where the gradient of this use of `value` goes: for a weight, the one accumulator of all its uses."""
        if value.kind == WEIGHT:
            if value.tensor not in self.weights:
                self.weights[value.tensor] = self.gradient(value)
            return self.weights[value.tensor]
        assert value.use not in self.gradients, f"{value.name} is used twice without multiref"
        self.gradients[value.use] = self.gradient(value)
        return self.gradients[value.use]

    def _undo_enter(self, step: _Step) -> None:
        (x,), (entered,) = step.inputs, step.outputs
        self.gradients[x.use] = self.gradient(x)
        self._all_reduce(self.backward, self.gradients[entered.use], self.gradients[x.use], f"{x.name}.grad")

    def _all_reduce(self, nodes: list[Node], before: int, after: int, name: str) -> None:
        attrs: dict[str, Hashable] = {"ranks": self._group, "reduce": "sum"}
        nodes.append(self._draft.node("all_reduce", (before,), (after,), attrs, name))

    def _record(
        self, op: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Hashable], name: str
    ) -> tuple[Value, ...]:
        self._emit(op, tuple(v.tensor for v in inputs), tuple(v.tensor for v in outputs), attrs, name)
        if outputs[0].trained:
            self._steps.append(_Step(op, inputs, outputs, attrs, name))
        return outputs

    def _emit(
        self, op: str, inputs: tuple[int, ...], outputs: tuple[int, ...], attrs: dict[str, Hashable], name: str
    ) -> None:
        self.forward.append(self._draft.node(op, inputs, outputs, attrs, name))

    def _value(
        self,
        name: str,
        shape: Shape,
        dtype: str,
        split: int | None = None,
        addend: bool = False,
        entered: bool = False,
        trained: bool = True,
        kind: str = ACTIVATION,
    ) -> Value:
        if self.tp == 1:
            split, addend, entered = None, False, False
        tensor = self._tensor(name, shape, dtype, kind, split, addend)
        return Value(tensor, self._next_use(), name, shape, dtype, split, addend, entered, trained, kind)

    def _tensor(self, name: str, shape: Shape, dtype: str, kind: str, split: int | None, addend: bool) -> int:
        part = (self.tp_rank, self.tp) if addend else (0, 1)
        return self._draft.tensor(
            name, shape, dtype, kind, self._draft.region(shape, split, self.tp_rank, self.tp), part
        )

    def _next_use(self) -> int:
        self._uses += 1
        return self._uses
