"""matmul: c[..., m, n] = sum over k of a[..., m, k] b[..., k, n], the leading dimensions broadcast

da = dc b^T        db = a^T dc, each summed over the dimensions along which it was repeated
"""

from collections.abc import Sequence

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.rule import Array, Atom, Attributes, Axes, Law, OpRule
from verdict.ops.shapes import arity, broadcast, known, make_axes, unbroadcast
from verdict.ops.types import promoted


def _axes(shapes: Sequence[Shape], attrs: Attributes) -> Axes:
    known("matmul", attrs, ())
    arity("matmul", shapes, 2)
    a, b = shapes
    if len(a) < 2 or len(b) < 2:
        raise ShapeError(f"matmul: both factors need two dimensions or more, found {a} and {b}")
    if a[-1] != b[-2]:
        raise ShapeError(f"matmul: the first factor has {a[-1]} columns, the second {b[-2]} rows")
    batch, (dims_a, dims_b) = broadcast("matmul", "b", a[:-2], b[:-2])
    atoms = (*batch, Atom("m", a[-2]), Atom("k", a[-1], Law.SUM, 2), Atom("n", b[-1]))
    dims_c = tuple((atom.name,) for atom in batch)
    return make_axes(
        atoms,
        ((*dims_a, ("m",), ("k",)), (*dims_b, ("k",), ("n",))),
        ((*dims_c, ("m",), ("n",)),),
    )


def _forward(inputs: Sequence[Array], attrs: Attributes) -> tuple[Array, ...]:
    return (numbers.matmul(inputs[0], inputs[1]),)


def _gradient(inputs: Sequence[Array], grads: Sequence[Array], attrs: Attributes) -> tuple[Array | None, ...]:
    (a, b), (dc,) = inputs, grads
    da = numbers.matmul(dc, np.swapaxes(b, -1, -2))
    db = numbers.matmul(np.swapaxes(a, -1, -2), dc)
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)


RULES = (
    OpRule(
        "matmul",
        _axes,
        _forward,
        _gradient,
        linear=frozenset({0, 1}),
        formula="c[..., m, n] = sum over k of a[..., m, k] b[..., k, n]",
        source="torch.matmul",
        types=promoted,
    ),
)
