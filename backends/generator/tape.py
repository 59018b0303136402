"""A tape: the program of one device while it is recorded, forward by the model, backward by walking back.

A value is used once. One that is used several times is copied by `multiref`, whose gradient adds; only weights are
used as often as one likes, and add up their gradients in an accumulator. How values go from one way of lying on the
devices to another is in crossings.py, how weights and their gradients are held in parameters.py.
"""

from collections.abc import Callable, Hashable, Mapping
from types import MappingProxyType

from verdict.backends.generator.draft import Draft, cut
from verdict.backends.generator.mesh import Mesh
from verdict.backends.generator.parameters import Parameters
from verdict.backends.generator.sizes import Sizes
from verdict.backends.generator.value import BATCH, Value
from verdict.graph import ABSENT, ACTIVATION, BUFFER, GRADIENT, INPUT, Interval, Node, Shape

Lies = Mapping[str, bool | int | str | None]
EVERYWHERE: Lies = MappingProxyType({"batch": None, "seq": None, "scattered": False})
"""Where a value lies that is the same for all samples and positions."""
_AS_READ: Lies = MappingProxyType({})
_INHERITED = ("batch", "seq", "scattered", "partial", "by", "gathered", "unit")


class Tape:
    """Records one device of a mesh.

    rows, seq: the samples and positions of this device in one microbatch. blocks: those of the positions that it has.
    counting: what it does in every microbatch before the first forward pass; totalling: and then once.
    """

    def __init__(self, draft: Draft, mesh: Mesh, device: int, sizes: Sizes, parameters: Parameters) -> None:
        self.draft, self.mesh, self.device, self.sizes = draft, mesh, device, sizes
        self.batch = sizes.batch // (sizes.replicas * sizes.microbatches)
        self.rows, self.seq = len(range(*self.piece(self.batch, *BATCH))), sizes.seq // sizes.cp
        self.blocks = self.blocks_of(mesh.at(device, "cp"))
        self.tp = mesh.size("tp")
        self.tp_rank = mesh.at(device, "tp")
        self.forward: list[Node] = []
        self.backward: list[Node] = []
        self.counting: list[Node] = []
        self.totalling: list[Node] = []
        self.gradients: dict[int, int] = {}
        self.parameters = parameters
        self._undo: list[Callable[[], None]] = []
        self._buffers: dict[str, Value] = {}
        self._given: dict[str, Value] = {}
        self._uses = 0

    def piece(self, size: int, *by: str, unit: int = 1) -> Interval:
        """This device's share of an axis of `size` that the ranks of mesh axes divide in whole units."""
        return cut(size, ((*self.mesh.place(self.device, by), unit),))

    def blocks_of(self, rank: int) -> tuple[int, ...]:
        """The blocks of the positions that a context parallel rank has."""
        return self.sizes.blocks(rank)

    def load(
        self, name: str, shape: Shape, dtype: str, seq: int | None = None, nodes: list[Node] | None = None
    ) -> Value:
        """An input of the model, samples first: the rows, and the positions along `seq`, of this device."""
        into = self.forward if nodes is None else nodes
        pieces = self._pieces(name, shape, dtype, kind=INPUT, batch=0, seq=seq)
        into += [self.draft.node("dataloader", (), (piece.tensor,), {}, name) for piece in pieces]
        return self._together(pieces, into)

    def given(self, name: str, shape: Shape, dtype: str) -> Value:
        """An input, samples first, that is loaded once however often it is asked for."""
        if name not in self._given:
            self._given[name] = self.load(name, shape, dtype)
        return self._given[name]

    def weight(
        self, name: str, shape: Shape, split: int | None = None, dtype: str = "", by: str = "tp",
        adapter: bool = False, unit: int = 1,
    ) -> Value:  # fmt: skip
        """A weight: one on each device, however often it is asked for; its gradients add up.

        Where there are low-rank adapters, nothing else is trained. Its dtype is that of the model's weights if no
        other is given.
        """
        dtype = dtype or ("bfloat16" if self.sizes.master else "float32")
        if self.sizes.lora and not adapter:
            if name not in self._buffers:
                frozen = self.value(name, shape, dtype, split=split, by=by, unit=unit, kind=BUFFER, trained=False)
                self._buffers[name] = frozen
            return self._buffers[name]
        wanted = Value(ABSENT, self.next_use(), name, shape, dtype, split, by=by, unit=unit).on(self.mesh)
        return self.parameters.use(wanted, self.forward)

    def buffer(self, name: str, shape: Shape, dtype: str, seq: int | None = None, scattered: bool = False) -> Value:
        """A constant tensor of the model: one on each device, however often it is asked for."""
        if name not in self._buffers:
            pieces = self._pieces(name, shape, dtype, kind=BUFFER, seq=seq, scattered=scattered)
            self._buffers[name] = self._together(pieces, self.forward)
        return self._buffers[name]

    def _pieces(self, name: str, shape: Shape, dtype: str, **what: bool | int | str | None) -> tuple[Value, ...]:
        """What is given of a tensor: the share of this device, or the blocks that it consists of."""
        if len(self.blocks) == 1 or what.get("seq") is None:
            return (self.value(name, shape, dtype, trained=False, **what),)
        count = len(self.blocks) * self.sizes.cp
        given = Value(ABSENT, 0, name, shape, dtype, trained=False)
        return tuple(self.like(given._replace(block=(block, count)), **what) for block in self.blocks)

    def _together(self, pieces: tuple[Value, ...], nodes: list[Node]) -> Value:
        """Blocks side by side, which then count as the share of the context parallel ranks."""
        if len(pieces) == 1:
            return pieces[0]
        whole = self.like(pieces[0], name=f"{pieces[0].name}.zigzag", kind=ACTIVATION, block=None, scattered=False)
        inputs = tuple(piece.tensor for piece in pieces)
        nodes.append(self.draft.node("concatenate", inputs, (whole.tensor,), {"dim": whole.seq}, whole.name))
        if not pieces[0].scattered:
            return whole
        own = self.like(whole, scattered=True)
        self.collective(nodes, "chunk", whole.tensor, own.tensor, ("tp",), whole.name, dim=whole.seq)
        return own

    def boundary(self, name: str, shape: Shape, split: int | None = None) -> Value:
        """An activation that arrives from the stage before: samples, and positions where there are three axes."""
        seq = 1 if len(shape) == 3 else None
        return self.value(
            name, shape, "float32", split=split, batch=0, seq=seq, scattered=self.sizes.sp and seq is not None
        )

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
        where: Lies = _AS_READ,
    ) -> tuple[Value, ...]:
        """Record an operator; its outputs are called `name`, or `name`.0, `name`.1, ... where there are several.

        integers: which of the outputs are integers, and so without a gradient. where: batch, seq, scattered, unit
        and partial of the outputs; where nothing is said they are those of the first input.
        """
        lead, trained = inputs[0], any(value.trained for value in inputs)
        known = {name: getattr(lead, name) for name in _INHERITED}
        values = tuple(
            self.value(
                f"{name}.{at}" if len(outputs) > 1 else name, shape, "int64" if at in integers else dtype,
                split=split, addend=addend, entered=entered, trained=trained and at not in integers,
                **{**known, **where},
            )
            for at, shape in enumerate(outputs)
        )  # fmt: skip
        attrs = attrs or {}
        self.emit(op, tuple(v.tensor for v in inputs), tuple(v.tensor for v in values), attrs, name)
        if values[0].trained:
            self.undo(lambda: self._undo_op(op, inputs, values, attrs, name))
        return values

    def multiref(self, x: Value, times: int) -> tuple[Value, ...]:
        """As many handles of x; its gradient is the sum of theirs."""
        return self.op(
            "multiref", (x,), f"{x.name}.ref", *[x.shape] * times, split=x.split, dtype=x.dtype,
            entered=x.entered, attrs={"times": times},
        )  # fmt: skip

    def undo(self, step: Callable[[], None]) -> None:
        """What walking back does here: from the gradients of what was made to those of what was read."""
        self._undo.append(step)

    def walk_back(self, last: Value, gradient: int) -> None:
        """Record the backward, from `gradient`, that of `last`, to the gradients of weights and of the boundary."""
        self.gradients[last.use] = gradient
        for step in reversed(self._undo):
            step()

    def emit(
        self, op: str, inputs: tuple[int, ...], outputs: tuple[int, ...], attrs: dict[str, Hashable], name: str
    ) -> None:
        """A node of the forward."""
        self.forward.append(self.draft.node(op, inputs, outputs, attrs, name))

    def collective(
        self, nodes: list[Node], op: str, before: int, after: int, axes: tuple[str, ...], name: str,
        **attrs: Hashable,
    ) -> None:  # fmt: skip
        """A collective among the devices that differ along some mesh axes."""
        attrs["ranks"] = self.mesh.group(self.device, axes)
        nodes.append(self.draft.node(op, (before,), (after,), attrs, name))

    def gradient(self, value: Value) -> int:
        """A new tensor for the gradient of `value`, which is known by it from now on."""
        assert value.use not in self.gradients, f"{value.name} is used twice without multiref"
        made = self.tensor(value._replace(addend=value.entered, partial=False), f"{value.name}.grad", GRADIENT)
        self.gradients[value.use] = made
        return made

    def value(self, name: str, shape: Shape, dtype: str, **what: bool | int | str | None) -> Value:
        """A new tensor that lies as said; the fields are those of Value."""
        return self.like(Value(ABSENT, 0, name, shape, dtype), **what)

    def like(self, x: Value, **changes: bool | int | str | Shape | None) -> Value:
        """A new tensor that lies as x does, but for some changes."""
        made = x._replace(use=self.next_use(), **changes).on(self.mesh)  # type: ignore[arg-type]
        return made._replace(tensor=self.tensor(made, made.name, made.kind))

    def tensor(self, value: Value, name: str, kind: str) -> int:
        """A new tensor with the share that `value` says."""
        return self.draft.share(self.mesh, self.device, value, name, kind, value.sums)

    def next_use(self) -> int:
        """A number that tells handles apart."""
        self._uses += 1
        return self._uses

    def _undo_op(
        self, op: str, inputs: tuple[Value, ...], outputs: tuple[Value, ...], attrs: dict[str, Hashable], name: str
    ) -> None:
        """The gradient of a recorded operator. Where no gradient arrives there is none to hand on."""
        grads = tuple(self.gradients.get(output.use, ABSENT) for output in outputs)
        if all(grad == ABSENT for grad in grads):
            return
        alone = outputs[0].entered or any(value.scattered or value.addend for value in (*inputs, *outputs))
        read = tuple(self.parameters.again(value, self.backward) for value in inputs)
        found = tuple(self._gradient_of(value, alone) if value.trained else ABSENT for value in inputs)
        self.backward.append(self.draft.node(f"{op}.grad", (*grads, *read), found, attrs, name))
        for value, gradient in zip(inputs, found, strict=True):
            if gradient != ABSENT and self.parameters.has(value):
                self.parameters.hand_in(value, gradient, alone, self.backward)

    def _gradient_of(self, value: Value, alone: bool) -> int:
        if self.parameters.has(value):
            return self.parameters.gradient(value, alone)
        return self.gradient(value)
