"""Operators of matrices, each of a batch by itself: what their rules have in common."""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.factors import Whole
from verdict.ops.aten.form import Arguments, Forward, Shapes, operator
from verdict.ops.rule import Array, Atom, Axes, Dim, Law, OpRule
from verdict.ops.shapes import broadcast, filled, make_axes
from verdict.ops.types import Types, floats
from verdict.outcome import Assumption

MATRICES = Assumption(
    "matrices-uninterpreted",
    "inverses, factors, determinants and exponentials of matrices are unknown functions of them, the same on both "
    "sides, whichever kernel finds them",
)
FAILED = "failure of factors"
"""The function that is zero of a matrix that has an inverse."""
Parts = Sequence[Array]
Core = tuple[str, Shape]
"""The last dimensions of a tensor: of each whether it is a column (c) or kept whole (*), and its size."""


def of_matrices(args: Arguments, read: Sequence[tuple[Shape, str]], made: Sequence[Core | None]) -> Axes:
    """read: the shapes of the inputs, and what their last dimensions are. made: None is of an output without elements,
    which has no batch.
    """
    filled(args.name, [shape for shape, _ in read])
    if any(len(shape) < len(kinds) for shape, kinds in read):
        raise args.misfit(f"{[shape for shape, _ in read]} are no matrices")
    rows, batches = broadcast(args.name, "b", *(shape[: len(shape) - len(kinds)] for shape, kinds in read))
    atoms = list(rows)

    def core(prefix: str, kinds: str, sizes: Shape) -> tuple[Dim, ...]:
        names = ["c" if kind == "c" else f"{prefix}{k}" for k, kind in enumerate(kinds)]
        present = {atom.name for atom in atoms}
        atoms.extend(
            Atom(name, size) if name == "c" else Atom(name, size, Law.WHOLE, size)
            for name, size in zip(names, sizes, strict=True)
            if name not in present
        )
        return tuple((name,) for name in names)

    inputs = [
        (*batch, *core(f"x{place}_", kinds, shape[len(shape) - len(kinds) :]))
        for place, ((shape, kinds), batch) in enumerate(zip(read, batches, strict=True))
    ]
    every = tuple((atom.name,) for atom in rows)
    outputs = [
        core(f"y{place}_", "*", (0,)) if each is None else (*every, *core(f"y{place}_", *each))
        for place, each in enumerate(made)
    ]
    return make_axes(atoms, inputs, outputs)


def rows_of(args: Arguments, name: str, rectangular: bool = False) -> tuple[int, int]:
    """The numbers of rows and columns of matrices."""
    shape = args[name]
    if len(shape) < 2 or (not rectangular and shape[-1] != shape[-2]):
        raise args.misfit(f"{name} of shape {shape} is no {'' if rectangular else 'square '}matrix")
    return shape[-2], shape[-1]


Cores = Callable[[Arguments, int, int], Sequence[Core | None]]


def of_one(name: str, cores: Cores, rectangular: bool = False) -> Callable[[Arguments], Axes]:
    """The axes of an operator of one matrix. cores: of its outputs, from the numbers of its rows and columns."""

    def axes(args: Arguments) -> Axes:
        if args["pivot"] is False:
            raise args.unruled("factors without pivoting have no rule")
        rows, columns = rows_of(args, name, rectangular)
        return of_matrices(args, [(args[name], "**")], cores(args, rows, columns))

    return axes


def solving(matrix: str, sides: str) -> Callable[[Arguments], Axes]:
    """The axes of an operator that solves for the columns of `sides`, or its rows where these are on the left."""

    def axes(args: Arguments) -> Axes:
        size, left = rows_of(args, matrix)[0], args["left"] is not False
        if len(args[sides]) < 2 or args[sides][-2 if left else -1] != size:
            raise args.misfit(f"{sides} of shape {args[sides]} does not fit a matrix of {size} rows")
        kinds = {matrix: "**", "pivots": "*", sides: "*c" if left else "c*"}
        order = [name for name in args.tensors if args[name] is not None]
        return of_matrices(args, [(args[name], kinds[name]) for name in order], [(kinds[sides], args[sides][-2:])])

    return axes


def each_matrix(function: Callable[..., Sequence[Array | None]], *arrays: tuple[Array, int]) -> tuple[Array, ...]:
    """A function of matrices for each of a batch, to which the arrays are broadcast. Each array with the number of its
    last dimensions that are no batch; None is an output without elements.
    """
    batch = np.broadcast_shapes(*(x.shape[: x.ndim - rank] for x, rank in arrays))
    spread = [np.broadcast_to(x, (*batch, *x.shape[x.ndim - rank :])) for x, rank in arrays]
    made = [function(*(np.asarray(x[place], dtype=x.dtype) for x in spread)) for place in np.ndindex(*batch)]
    kind = object if any(numbers.of_objects(x) for x, _ in arrays) else np.float64

    def joined(outputs: Sequence[Array | None]) -> Array:
        if outputs[0] is None:
            return np.zeros(0, dtype=kind)
        found = np.empty((prod(batch), *outputs[0].shape), dtype=kind)
        for place, output in enumerate(outputs):
            found[place, ...] = output
        return found.reshape((*batch, *outputs[0].shape))

    return tuple(map(joined, zip(*made, strict=True)))


def lower_of(matrix: Array, upper: bool = False) -> Array:
    """The elements of the lower triangle, or of the upper one turned over."""
    turned = matrix.T if upper else matrix
    return np.asarray(turned[np.tril_indices(len(turned))])


def factored(matrix: Array) -> Parts:
    """L and U in one matrix, which rows have changed places, and whether it failed."""
    whole = Whole(matrix)
    return whole.of("factors", matrix.shape), whole.of("places of factors", (min(matrix.shape),)), whole.of(FAILED, ())


def matrix_rule(
    name: str, tensors: str, attributes: Mapping[str, Any], shapes: Shapes, forward: Forward, formula: str,
    types: Types = floats, linear: Sequence[int] = (),
) -> OpRule:  # fmt: skip
    """The rule of an operator of ATen that is an unknown function of whole matrices."""
    return operator(
        f"aten.{name}", tensors, attributes, shapes, forward, formula, types=types, linear=linear,
        assumptions=(MATRICES,),
    )  # fmt: skip
