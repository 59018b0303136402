"""Products of matrices: y[.., i, j] = sum over k of a[.., i, k] b[.., k, j], and with an addend.

mm, bmm, mv, dot     a b
addmm, baddbmm       beta self + alpha a b (self is broadcast; k is WHOLE, since each share would add it)
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.elementwise import of_kind, times
from verdict.ops.aten.form import Arguments, operator
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import make_axes

SCALES = {"beta": 1, "alpha": 1}


def _contracted(
    args: Arguments, a: Shape, b: Shape, law: Law
) -> tuple[list[Atom], Sequence[Dim], Sequence[Dim], Sequence[Dim]]:
    """Atoms, and the dimensions of a, b and their product; 'p' stands for a batch of matrices."""
    rank = 3 if "bmm" in args.name else 2
    if len(a) != rank or len(b) != rank or a[-1] != b[-2] or a[:-2] != b[:-2]:
        raise args.misfit(f"matrices of shapes {a} and {b} do not fit")
    batch: tuple[Dim, ...] = (("p",),) if rank == 3 else ()
    atoms = [Atom("p", a[0])] if batch else []
    atoms += [Atom("i", a[-2]), Atom("k", a[-1], law, 2), Atom("j", b[-1])]
    return atoms, (*batch, ("i",), ("k",)), (*batch, ("k",), ("j",)), (*batch, ("i",), ("j",))


def _product(args: Arguments) -> Axes:
    first, second = args.given
    atoms, a, b, y = _contracted(args, first, second, Law.SUM)
    return make_axes(atoms, (a, b), (y,))


def _product_added(args: Arguments) -> Axes:
    added, first, second = args.given
    atoms, a, b, y = _contracted(args, first, second, Law.WHOLE)
    full = (*first[:-1], second[-1])
    missing = len(full) - len(added)
    if missing < 0 or any(size not in {1, full[missing + k]} for k, size in enumerate(added)):
        raise args.misfit(f"an addend of shape {added} does not fit a product of shape {full}")
    dims = tuple(() if size == 1 else y[missing + k] for k, size in enumerate(added))
    return make_axes(atoms, (dims, a, b), (y,))


def _vector(args: Arguments) -> Axes:
    first, second = args.given
    if len(second) != 1 or first[-1:] != second or len(first) != (1 if args.name == "aten.dot" else 2):
        raise args.misfit(f"shapes {first} and {second} do not fit")
    atoms = (*(Atom("i", first[0]),) * (len(first) - 1), Atom("k", second[0], Law.SUM, 2))
    rows: tuple[Dim, ...] = (("i",),) * (len(first) - 1)
    return make_axes(atoms, ((*rows, ("k",)), (("k",),)), (rows,))


def _matmul(args: Arguments) -> Array:
    a, b = args.given
    if a.ndim > 1:
        return numbers.matmul(a, b)
    return of_kind(numbers.total(np.asarray(a * b), (0,)).reshape(()), a)


def _added(args: Arguments) -> Array:
    added, a, b = args.given
    y = times(args["alpha"], numbers.matmul(a, b))
    scaled = times(args["beta"], added) if added.ndim else times(args["beta"], added.reshape(1))
    return np.asarray(scaled + y)


def _with_addend(name: str, tensors: str, formula: str) -> OpRule:
    rule = operator(name, tensors, SCALES, _product_added, _added, formula)
    return replace(rule, affine=lambda arity, attrs: True)


RULES: tuple[OpRule, ...] = (
    operator("aten.mm", "self mat2", {}, _product, _matmul, "y[i, j] = sum over k of a[i, k] b[k, j]", linear=(0, 1)),
    operator(
        "aten.bmm",
        "self mat2",
        {},
        _product,
        _matmul,
        "y[p, i, j] = sum over k of a[p, i, k] b[p, k, j]",
        linear=(0, 1),
    ),
    operator("aten.mv", "self vec", {}, _vector, _matmul, "y[i] = sum over k of a[i, k] b[k]", linear=(0, 1)),
    operator("aten.dot", "self tensor", {}, _vector, _matmul, "y = sum over k of a[k] b[k]", linear=(0, 1)),
    _with_addend("aten.addmm", "self mat1 mat2", "y = beta self + alpha a b"),
    _with_addend("aten.baddbmm", "self batch1 batch2", "y = beta self + alpha a b, each matrix"),
)
