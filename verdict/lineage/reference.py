"""The single-device plan as a table of values: what the parallel plan's tensors are compared with.

Copies vanish, and so do collectives, in which the one device is alone; local sums become formal sums, and nodes that
compute the same from the same are one. So a parallel node finds its partner by what it computes from what, not by name.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from verdict.graph import ABSENT, ACCUMULATOR, BUFFER, GRAD, INPUT, WEIGHT, Logical, Node, Plan, Shape
from verdict.graph.lockstep import COLLECTIVES, LOADER
from verdict.lineage.columns import NO_COLUMN, UNDECIDED
from verdict.lineage.meaning import Meaning, Signature, makes, mean
from verdict.lineage.values import Value
from verdict.ops import FACTS
from verdict.ops.signs import factors
from verdict.ops.types import COMPLEX, FLOAT, kind

Bases = tuple[int, ...]
"""A formal sum of bases, sorted."""


class Base(NamedTuple):
    """A value of the single-device plan. node is -1 for what is given: inputs, weights, buffers, the seed.

    name: one that no other base has. logical: the name of its logical tensor.
    """

    node: int
    output: int
    name: str
    shape: Shape
    dtype: str
    column: int
    logical: str

    def of_column(self, columns: int) -> Shape:
        """The shape of one of so many columns."""
        return tuple(size // columns if axis == self.column else size for axis, size in enumerate(self.shape))


class Partner(NamedTuple):
    """A node of the single-device plan. outputs: the base of each, ABSENT where nobody wants it."""

    node: Node
    inputs: tuple[Bases, ...]
    outputs: tuple[int, ...]
    meaning: Meaning

    @property
    def read(self) -> tuple[int, ...]:
        """The values that the node reads, and not their shapes alone."""
        each = (bases for k, bases in enumerate(self.inputs) if k not in self.meaning.ignored)
        return tuple(base for bases in each for base in bases)

    @property
    def signature(self) -> Signature:
        """What the meaning of the node depends on."""
        return self.meaning.signature


@dataclass(frozen=True, slots=True)
class Reference:
    """The single-device plan, ready to be compared with a parallel one of so many columns.

    batch: for each logical tensor the axis that the columns split, None for none. leaves: of each sum of values of its
    shape what is added up in the end, of zeros nothing; sums: the first of which these are the leaves. shapes: those of
    one column.
    """

    plan: Plan
    columns: int
    batch: Mapping[int, int | None]
    bases: tuple[Base, ...]
    values: Mapping[int, Bases]
    given: Mapping[int, int]
    partners: tuple[Partner, ...]
    by_inputs: Mapping[tuple[str, tuple[Bases, ...]], tuple[int, ...]]
    by_forward: Mapping[tuple[str, tuple[Bases, ...]], tuple[int, ...]]
    meanings: Mapping[Signature, Meaning]
    leaves: Mapping[int, Bases]
    sums: Mapping[Bases, int]
    shapes: tuple[Shape, ...]

    def added(self, bases: Iterable[int]) -> Bases:
        """What is added up in the end where some values are."""
        return tuple(sorted(leaf for base in bases for leaf in self.leaves.get(base, (base,))))

    def total(self, bases: Sequence[int]) -> int | None:
        """The value that some add up to, of zeros alone one of them; None where there is none."""
        leaves = self.added(bases)
        return (leaves or bases)[0] if len(leaves) < min(2, len(bases)) else self.sums.get(leaves)

    def regrouped(self, value: Value) -> Value:
        """A formal sum of one region as the single-device value that adds up the same; itself where there is none."""
        if len(value) < 2 or value[0].part or any(share[1:] != value[0][1:] for share in value):
            return value
        base = self.total([share.base for share in value])
        return value if base is None else (value[0]._replace(base=base),)

    def expected(self, value: Value, due: Bases) -> Bases:
        """The values that a formal sum must be of: its own where these add up the same as what is due."""
        held = tuple(share.base for share in value)
        return held if self.added(held) == self.added(due) else due

    def column_shape(self, base: int) -> Shape:
        """The shape of one column of a base."""
        return self.shapes[base]


class _Builder:
    """Walks the single-device program once, in its order."""

    def __init__(self, plan: Plan, columns: int, batch: Mapping[int, int | None]) -> None:
        self.plan = plan
        self.columns = columns
        self.batch = batch
        self.bases: list[Base] = []
        self.names: Counter[str] = Counter()
        self.values: dict[int, Bases] = {}
        self.given: dict[int, int] = {}
        self.partners: list[Partner] = []
        self.known: dict[tuple[Any, ...], Partner] = {}
        self.by_inputs: dict[tuple[str, tuple[Bases, ...]], list[int]] = defaultdict(list)
        self.by_forward: dict[tuple[str, tuple[Bases, ...]], list[int]] = defaultdict(list)
        self.meanings: dict[Signature, Meaning] = {}
        self.leaves: dict[int, Bases] = {}
        self.sums: dict[Bases, int] = {}

    def base(self, node: int, output: int, logical: Logical, column: int, maker: str = "") -> int:
        """A new base. Several values of one name are told apart by what makes them."""
        told = f" (from {maker}, output {output})" if self.names[logical.name] else ""
        self.names[logical.name] += 1
        self.bases.append(Base(node, output, logical.name + told, logical.shape, logical.dtype, column, logical.name))
        return len(self.bases) - 1

    def read(self, tensor: int) -> Bases:
        if tensor == ABSENT:
            return ()
        if tensor not in self.values:
            index = self.plan.tensors[tensor].logical
            logical = self.plan.logicals[index]
            if logical.kind == ACCUMULATOR:
                return ()
            axis = self.batch.get(index)
            self.given[index] = self.base(-1, 0, logical, NO_COLUMN if axis is None else axis)
            self.values[tensor] = (self.given[index],)
        return self.values[tensor]

    def seed(self, tensor: int) -> None:
        """Seeds of one shape hold the same: 1."""
        shape = self.plan.logicals[self.plan.tensors[tensor].logical].shape
        alike = (seed for seed in self.plan.seeds if self.values.get(seed))
        same = next((seed for seed in alike if self.bases[self.values[seed][0]].shape == shape), None)
        self.values[tensor] = self.read(tensor) if same is None else self.values[same]

    def write(self, tensor: int, value: Bases) -> None:
        if tensor == ABSENT:
            return
        if self.plan.kind(tensor) == ACCUMULATOR:
            value = tuple(sorted((*self.values.get(tensor, ()), *value)))
        self.values[tensor] = value

    def walk(self, node: Node) -> None:
        inputs = tuple(self.read(tensor) for tensor in node.inputs)
        summed = FACTS.addends(node.op, inputs, len(node.outputs))
        if summed is not None:
            for tensor in node.outputs:
                self.write(tensor, tuple(sorted(base for value in summed for base in value)))
        elif node.op in COLLECTIVES:
            for tensor in node.outputs:
                self.write(tensor, inputs[0])
        elif node.op == LOADER:
            for tensor in node.outputs:
                self.read(tensor)
        else:
            self.compute(node, inputs)

    def compute(self, node: Node, inputs: tuple[Bases, ...]) -> None:
        key = (node.op, repr(node.attrs), inputs, tuple(tensor != ABSENT for tensor in node.outputs))
        partner = None if FACTS.random(node.op) else self.known.get(key)
        if partner is None:
            partner = self.known[key] = self.partner(node, inputs)
            self.note_product(node, inputs, partner.outputs)
        for tensor, base in zip(node.outputs, partner.outputs, strict=True):
            self.write(tensor, (base,) if base != ABSENT else ())

    def partner(self, node: Node, inputs: tuple[Bases, ...]) -> Partner:
        signature = self.signature(node, inputs)
        meaning = self.meanings.get(signature)
        if meaning is None:
            meaning = self.meanings[signature] = mean(signature, self.columns)
        index = len(self.partners)
        zero = meaning.is_gradient and not any(inputs[: signature.grads])
        outputs = tuple(
            ABSENT
            if tensor == ABSENT or zero
            else self.base(index, k, self.plan.logicals[self.plan.tensors[tensor].logical], column, node.name)
            for k, (tensor, column) in enumerate(zip(node.outputs, meaning.columns, strict=True))
        )
        partner = Partner(node, inputs, outputs, meaning)
        self.partners.append(partner)
        adds = FACTS.is_plain_sum(node.op, node.attrs) or FACTS.factor(node.op, len(inputs), dict(node.attrs)) == 1
        if adds and ABSENT not in outputs:
            self.note_sum(outputs[0], inputs)
        if FACTS.makes_zeros(node.op, len(inputs), dict(node.attrs)):
            self.leaves.update(dict.fromkeys(outputs, ()))
        self.by_inputs[node.op, inputs].append(index)
        self.by_forward[node.op, inputs[signature.grads :]].append(index)
        return partner

    def note_sum(self, base: int, inputs: tuple[Bases, ...]) -> None:
        """Note what is added up in a value, or multiplied by 1: addends that have its shape and its kind of numbers."""
        form = _form(self.bases[base])
        addends = [addend for bases in inputs for addend in bases]
        if form[-1] == FLOAT and all(inputs) and all(_form(self.bases[addend]) == form for addend in addends):
            leaves = tuple(sorted(leaf for a in addends for leaf in self.leaves.get(a, (a,))))
            self.leaves[base] = leaves
            if leaves:
                self.sums.setdefault(leaves, base)

    def note_product(self, node: Node, inputs: tuple[Bases, ...], outputs: tuple[int, ...]) -> None:
        """A product of real numbers is the one of its factors in the other order."""
        turned = self.known.get((node.op, repr(node.attrs), inputs[::-1], (True,)))
        if turned is not None and factors(node.op, dict(node.attrs)) == (0, 1):
            forms = {_form(self.bases[base]) for base in (*outputs, *turned.outputs)}
            if len(forms) == 1 and forms.pop()[-1] == FLOAT:
                self.leaves[outputs[0]] = self.leaves.get(turned.outputs[0], turned.outputs)

    def signature(self, node: Node, inputs: tuple[Bases, ...]) -> Signature:
        logicals = [self.plan.logicals[self.plan.tensors[t].logical] if t != ABSENT else None for t in node.inputs]
        dtypes = [
            self.known_type(logical, value) if logical else "" for logical, value in zip(logicals, inputs, strict=True)
        ]
        first: dict[Bases, int] = {}
        grads = len(node.inputs) - len(node.outputs) if node.op.endswith(GRAD) else 0
        return Signature(
            op=node.op,
            attrs=node.attrs,
            shapes=tuple(logical.shape if logical else None for logical in logicals),
            dtypes=tuple(dtypes),
            columns=tuple(self.column(value) for value in inputs),
            alias=tuple(first.setdefault(value, k) for k, value in enumerate(inputs)),
            grads=grads,
            wanted=tuple(tensor != ABSENT for tensor in node.outputs),
            arity=len(node.outputs),
        )

    def known_type(self, logical: Logical, value: Bases) -> str:
        """The type of what a node reads where it is known: that of what is given, and what operators are known to make.
        Of integers that are said and not known nothing is known.
        """
        if kind(logical.dtype) in (FLOAT, COMPLEX):
            return logical.dtype
        makers = [self.bases[base] for base in value]
        meanings = [(self.partners[maker.node].meaning, maker.output) for maker in makers if maker.node >= 0]
        return logical.dtype if all(makes(*each, logical.dtype) for each in meanings) else ""

    def column(self, value: Bases) -> int:
        columns = {self.bases[base].column for base in value}
        if not columns:
            return NO_COLUMN
        return columns.pop() if len(columns) == 1 else UNDECIDED


def reference(plan: Plan, columns: int, batch: Mapping[int, int | None]) -> Reference:
    """Read the single-device plan as a table of values, for a parallel plan of `columns` columns."""
    builder = _Builder(plan, columns, batch)
    for tensor in plan.seeds:
        builder.seed(tensor)
    for call in plan.programs[0]:
        for node in plan.segments[call.segment].nodes:
            builder.walk(node)
    for held in plan.declared:
        if plan.kind(held.tensor) in (INPUT, WEIGHT, BUFFER):
            builder.read(held.tensor)
    return Reference(
        plan=plan,
        columns=columns,
        batch=batch,
        bases=tuple(builder.bases),
        values=builder.values,
        given=builder.given,
        partners=tuple(builder.partners),
        by_inputs={key: tuple(found) for key, found in builder.by_inputs.items()},
        by_forward={key: tuple(found) for key, found in builder.by_forward.items()},
        meanings=builder.meanings,
        leaves=builder.leaves,
        sums=builder.sums,
        shapes=tuple(base.of_column(columns) for base in builder.bases),
    )


def _form(base: Base) -> tuple[Shape, int, str]:
    """What addends have in common that may be added up in any order: narrow integers may wrap around on the way."""
    return base.shape, base.column, kind(base.dtype)
