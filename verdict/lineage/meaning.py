"""What a single-device node means, wherever it stands: its rule, its index axes, its columns of the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import Any, NamedTuple

from verdict.errors import ShapeError
from verdict.graph import ABSENT, GRAD, Attrs, Interval, Node, Shape
from verdict.lineage.columns import SUMMED, UNDECIDED, flow
from verdict.ops import FACTS, RULES, Axes, Dim, Law, OpRule, Scale, without_rule
from verdict.ops.types import FLOAT, kind


class Signature(NamedTuple):
    """What the meaning of a node depends on, with its place in the plan left out.

    shapes, dtypes, columns: of the tensors read, gradients first; the shape of an absent gradient is None. alias: which
    of them are one value.
    """

    op: str
    attrs: Attrs
    shapes: tuple[Shape | None, ...]
    dtypes: tuple[str, ...]
    columns: tuple[int, ...]
    alias: tuple[int, ...]
    grads: int
    wanted: tuple[bool, ...]
    arity: int

    @property
    def spelled(self) -> str:
        """The shapes for people, - for an absent gradient."""
        return f"[{', '.join('-' if shape is None else str(list(shape)) for shape in self.shapes)}]"


@dataclass(frozen=True)
class Meaning:
    """What is known of a signature: the rule, the index axes, and how a column of the batch runs through.

    read, written: the dimensions of each tensor read (gradients first) and of each output.
    summands: the inputs that are sums over the batch of which one column may be read by itself, the node being linear
    in them. complete: those that must be complete when they are read.
    problem: why nothing can be said, empty where there is no problem.
    """

    signature: Signature
    rule: OpRule | None
    axes: Axes | None
    read: tuple[tuple[Dim, ...], ...]
    written: tuple[tuple[Dim, ...], ...]
    column_atom: str | None
    columns: tuple[int, ...]
    sizes: Mapping[str, int]
    problem: str
    summands: frozenset[int] = frozenset()
    complete: frozenset[int] = frozenset()

    @cached_property
    def unused(self) -> frozenset[str]:
        """The atoms on which no output depends."""
        return frozenset(a.name for a in self.axes.atoms if a.law is Law.UNUSED) if self.axes else frozenset()

    @cached_property
    def linear(self) -> frozenset[int]:
        """The inputs in which the node is linear; of a gradient node, the gradients that it reads."""
        grads = self.signature.grads
        if self.rule is None:
            return frozenset()
        if self.is_gradient:
            return frozenset(range(grads))
        return self.rule.linear_in(len(self.signature.shapes), dict(self.signature.attrs))

    @cached_property
    def ignored(self) -> frozenset[int]:
        """The inputs whose values do not count.

        A node that is linear in an input has a gradient for it in which that input does not occur; what is linear in
        all of them together has gradients in which none does.
        """
        if self.rule is None:
            return frozenset()
        if not self.is_gradient:
            return self.rule.shape_only
        _, attrs, shapes, *_ = self.signature
        grads, wanted = self.signature.grads, {k for k, asked in enumerate(self.signature.wanted) if asked}
        if self.rule.additive:
            return frozenset(range(grads, len(shapes)))
        linear = self.rule.linear_in(len(shapes) - grads, dict(attrs))
        return frozenset(grads + position for position in linear if wanted <= {position})

    @property
    def uninterpreted(self) -> bool:
        """Whether the rule rests on assumptions, such as a function that it leaves uninterpreted."""
        return self.rule is not None and bool(self.rule.assumptions)

    @property
    def is_gradient(self) -> bool:
        """Whether this is the gradient of an operator."""
        return self.signature.op.endswith(GRAD)


def made_of_parts(meaning: Meaning, partial: frozenset[int]) -> bool:
    """Whether what a node makes of parts of sums, at these of its inputs, may be part of the sum of what it makes.

    So it is of a sum or difference of two parts; and of the gradient for a weight, of a part of what it was applied to.
    """
    if meaning.rule is None:
        return False
    _, attrs, shapes, *_ = meaning.signature
    grads = meaning.signature.grads
    if not meaning.is_gradient:
        return meaning.rule.additive and len(shapes) > 1 and partial == frozenset(range(len(shapes)))
    linear = meaning.rule.linear_in(len(shapes) - grads, dict(attrs))
    return partial <= frozenset(grads + position for position in linear)


def base_op(op: str) -> str:
    """The forward operator that `op` is, or is the gradient of."""
    return op.removesuffix(GRAD)


def mean(signature: Signature, columns: int) -> Meaning:
    """What the rules say of a signature; `problem` is set where they say nothing."""

    def silent(problem: str) -> Meaning:
        outputs = (UNDECIDED,) * signature.arity
        return Meaning(signature, None, None, (), (), None, outputs, {}, problem)

    op = base_op(signature.op)
    rule = RULES.get(op)
    if rule is None:
        return silent(without_rule(op))
    forward = [shape for shape in signature.shapes[signature.grads :] if shape is not None]
    if len(forward) != len(signature.shapes) - signature.grads:
        return silent("an input is missing")
    try:
        axes = rule.axes(forward, dict(signature.attrs))
    except ShapeError as error:
        return silent(error.problem)
    read = (*axes.outputs[: signature.grads], *axes.inputs)
    if signature.op.endswith(GRAD):
        if signature.grads != len(axes.outputs):
            return silent(f"{op} has {len(axes.outputs)} outputs, its gradient is given {signature.grads}")
        written = axes.inputs
    else:
        written = axes.outputs
    if len(written) != signature.arity:
        return silent(f"{op} has {len(written)} outputs, the node has {signature.arity}")
    free = rule.linear_in(len(forward), dict(signature.attrs))
    summands = _summands(signature, free)
    tensors = zip(read, signature.columns, signature.shapes, strict=True)
    present = tuple((dims, column) for dims, column, shape in tensors if shape is not None)
    flowed = flow(axes, present, written, bool(summands))
    if isinstance(flowed, str):
        return silent(flowed)
    sizes = {atom.name: atom.size for atom in axes.atoms}
    if flowed.atom is not None:
        if sizes[flowed.atom] % columns:
            return silent(f"{columns} columns do not divide the {sizes[flowed.atom]} elements of the batch")
        sizes[flowed.atom] //= columns
    summands = summands if flowed.by_summand else frozenset()
    complete = _summed(signature) - summands
    return Meaning(signature, rule, axes, read, written, flowed.atom, flowed.outputs, sizes, "", summands, complete)


def column_attrs(
    meaning: Meaning, attrs: Attrs, shapes: Sequence[Shape | None], share: Mapping[str, Interval] | None = None
) -> Attrs | None:
    """The attributes that a node has on one column; None where they speak of places along what is cut.

    shapes: of what it reads of one column, but for gradients. share: of the column, the intervals of atoms that the
    node works on, where these are not all of it.
    """
    if meaning.rule is None or meaning.axes is None:
        return attrs if meaning.rule is not None else None
    sizes = dict(meaning.sizes) | {name: stop - start for name, (start, stop) in (share or {}).items()}
    cut = {atom.name for atom in meaning.axes.atoms if sizes[atom.name] != atom.size}
    if not cut:
        return attrs
    cuts = meaning.rule.cuts(dict(attrs))
    points: dict[str, Mapping[int, int]] = {}
    for atom in meaning.axes.atoms:
        ends = {0: 0, atom.size: sizes[atom.name]}
        inner = {at: at for at in cuts.get(atom.name, ()) if at not in ends}
        if inner and atom.name in cut:
            return None
        points[atom.name] = {**inner, **ends}
    outputs = tuple(tuple(prod(sizes[name] for name in dim) for dim in dims) for dims in meaning.axes.outputs)
    whole = {atom.name: (0, atom.size) for atom in meaning.axes.atoms}
    read = tuple(shape if shape is not None else () for shape in shapes)
    found: Mapping[str, Any] = meaning.rule.reduce(dict(attrs), Scale(whole, sizes, points, read, outputs))
    return attrs if dict(found) == dict(attrs) else tuple(sorted(found.items()))


def _summed(signature: Signature) -> frozenset[int]:
    return frozenset(k for k, column in enumerate(signature.columns) if column == SUMMED)


def _summands(signature: Signature, free: frozenset[int]) -> frozenset[int]:
    """The inputs whose columns may be looked at one by one, as the node is linear in them together.

    Of a gradient node all gradients that are sums over the batch; of a forward node one input, which is no other too.
    """
    summed = _summed(signature)
    if signature.grads:
        return summed if summed <= set(range(signature.grads)) else frozenset()
    alone = [k for k in summed & free if signature.alias.count(signature.alias[k]) == 1]
    return frozenset(alone[:1]) if len(alone) == 1 else frozenset()


def read_by(node: Node) -> frozenset[int]:
    """The tensors whose numbers a node reads: of the others the shape counts alone."""
    unread = _unread(node.op)
    return frozenset([tensor for k, tensor in enumerate(node.inputs) if tensor != ABSENT and k not in unread])


@cache
def _unread(op: str) -> frozenset[int]:
    """The inputs of which an operator reads the shape alone."""
    rule = FACTS.of(op)
    return rule.unread(op.endswith(GRAD)) if rule is not None else frozenset()


def makes(meaning: Meaning, output: int, dtype: str) -> bool:
    """Whether a node is known to make this type as one of its outputs."""
    rule, signature = meaning.rule, meaning.signature
    if rule is None or meaning.is_gradient:
        return False
    types = rule.types([kind(found) or FLOAT for found in signature.dtypes], dict(signature.attrs))
    known = types[min(output, len(types) - 1)]
    return known is not None and kind(dtype) in known
