"""Inverses and triangular factors of matrices, and what is solved with them: unknown functions of whole matrices.

    linalg_inv_ex        A^-1                           linalg_solve_triangular            A^-1 B, of one triangle of A
    linalg_lu_factor_ex  P L U = A                      linalg_lu_solve                    (P L U)^-1 B
    linalg_cholesky_ex   L L' = A                       cholesky_solve, cholesky_inverse   (L L')^-1 B, (L L')^-1

What is solved is linear in B, of which each column is by itself: the unknown function is the inverse. Of a symmetric
matrix, and of a triangular one, one triangle is read. Where there is no inverse there is no number.
"""

from collections.abc import Sequence

import numpy as np

from verdict.ops import numbers
from verdict.ops.aten.batches import (
    FAILED,
    Core,
    Cores,
    Parts,
    each_matrix,
    factored,
    lower_of,
    matrix_rule,
    of_matrices,
    of_one,
    rows_of,
    solving,
)
from verdict.ops.aten.factors import Whole
from verdict.ops.aten.form import REQUIRED, Arguments
from verdict.ops.elements import divide
from verdict.ops.rule import Array, Axes, OpRule
from verdict.ops.types import like_first, with_integers


def _inverse(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Parts:
        whole = Whole(matrix)
        return whole.where_regular(whole.of("inverse", matrix.shape)), whole.of(FAILED, ())

    return each_matrix(one, (args["A"], 2))


def _unpacked(factors: Array) -> Parts:
    """L and U, which stand in one matrix."""
    rows, columns = factors.shape
    size = min(rows, columns)
    return np.tril(factors[:, :size], -1) + np.eye(rows, size, dtype=np.int64), np.triu(factors[:size])


def _lu(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Parts:
        whole = Whole(matrix)
        order = whole.of("order of factors", (len(matrix), len(matrix)))
        return order, *_unpacked(whole.of("factors", matrix.shape))

    return each_matrix(one, (args["A"], 2))


def _sides(rows: int, columns: int) -> list[Core]:
    """P, L and U."""
    size = min(rows, columns)
    return [("**", (rows, rows)), ("**", (rows, size)), ("**", (size, columns))]


def _unpacked_axes(args: Arguments) -> Axes:
    order, *sides = _sides(*rows_of(args, "LU_data", rectangular=True))
    read = [(args["LU_data"], "**"), (args["LU_pivots"], "*")]
    triangles = sides if args["unpack_data"] else [None, None]
    return of_matrices(args, read, [order if args["unpack_pivots"] else None, *triangles])


def _lu_unpacked(args: Arguments) -> tuple[Array, ...]:
    def one(factors: Array, places: Array) -> Sequence[Array | None]:
        order = None
        if args["unpack_pivots"]:
            size = len(factors)
            order = Whole(places, np.array([size], dtype=places.dtype)).of("order of places", (size, size))
        return order, *(_unpacked(factors) if args["unpack_data"] else (None, None))

    return each_matrix(one, (args["LU_data"], 2), (args["LU_pivots"], 1))


def _lu_solved(args: Arguments) -> Array:
    def one(factors: Array, places: Array, sides: Array) -> Parts:
        whole = Whole(factors, places)
        inverse = whole.where_regular(whole.of("inverse of factors", factors.shape))
        inverse = inverse.T if args["adjoint"] else inverse
        return (numbers.matmul(inverse, sides) if args["left"] else numbers.matmul(sides, inverse),)

    return each_matrix(one, (args["LU"], 2), (args["pivots"], 1), (args["B"], 2))[0]


def _inverted(triangle: Array, upper: bool, unit: bool = False) -> Array:
    """The inverse of a triangle: on its diagonal the inverses of the numbers there."""
    size = len(triangle)
    if unit:
        triangle = triangle.copy()
        np.fill_diagonal(triangle, 1)
    lower, diagonal = lower_of(triangle, upper), triangle.diagonal()
    whole = Whole(lower)
    made = np.tril(whole.of("inverse of lower", (size, size)))
    if not whole.known:
        made = np.asarray(made * 1)
        for row, column in zip(*np.tril_indices(size), strict=True):
            one = divide(1, diagonal[column])
            made[row, column] = one if row == column else made[row, column] + 0 * one
    return made.T if upper else made


def _triangular_solved(args: Arguments) -> Array:
    def one(triangle: Array, sides: Array) -> Parts:
        inverse = _inverted(triangle, args["upper"], args["unitriangular"])
        return (numbers.matmul(inverse, sides) if args["left"] else numbers.matmul(sides, inverse),)

    return each_matrix(one, (args["self"], 2), (args["B"], 2))[0]


def _root(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Parts:
        whole = Whole(lower_of(matrix, args["upper"]))
        lower = np.tril(whole.where_regular(whole.of("root", matrix.shape)))
        return lower.T if args["upper"] else lower, whole.of("failure of root", ())

    made = each_matrix(one, (args["self"], 2))
    return made if args.name.endswith("_ex") else made[:1]


def _of_root(args: Arguments) -> Array:
    """What is solved for a matrix whose root is known, or its inverse."""

    def one(root: Array, *sides: Array) -> Parts:
        inverse = _inverted(root, args["upper"])
        both = numbers.matmul(inverse, inverse.T) if args["upper"] else numbers.matmul(inverse.T, inverse)
        return (numbers.matmul(both, sides[0]) if sides else both,)

    if args["input2"] is None:
        return each_matrix(one, (args["self"], 2))[0]
    return each_matrix(one, (args["input2"], 2), (args["self"], 2))[0]


def _square(*kinds: str) -> Cores:
    """As many outputs: a matrix (**) of the same size, a number for each row (*), one number."""
    return lambda args, rows, columns: [(each, (rows,) * len(each)) for each in kinds]


CHECKED = {"check_errors": False}
UPPER = {"upper": False}

RULES: tuple[OpRule, ...] = (
    matrix_rule(
        "linalg_inv_ex", "A", CHECKED, of_one("A", _square("**", "")), _inverse, "y = A^-1", types=with_integers
    ),
    matrix_rule(
        "linalg_lu_factor_ex",
        "A",
        {"pivot": True, **CHECKED},
        of_one("A", lambda args, m, n: [("**", (m, n)), ("*", (min(m, n),)), ("", ())], rectangular=True),
        lambda args: each_matrix(factored, (args["A"], 2)),
        "L U = P' A, in one matrix, and the rows that P' changes",
        types=with_integers,
    ),
    matrix_rule(
        "linalg_lu",
        "A",
        {"pivot": True},
        of_one("A", lambda args, m, n: _sides(m, n), rectangular=True),
        _lu,
        "P L U = A",
    ),
    matrix_rule(
        "lu_unpack",
        "LU_data LU_pivots",
        {"unpack_data": True, "unpack_pivots": True},
        _unpacked_axes,
        _lu_unpacked,
        "P, L and U, which stand in one matrix",
        types=like_first,
    ),
    matrix_rule(
        "linalg_lu_solve",
        "LU pivots B",
        {"left": True, "adjoint": False},
        solving("LU", "B"),
        _lu_solved,
        "y = (P L U)^-1 B",
        linear=(2,),
    ),
    matrix_rule(
        "linalg_cholesky_ex",
        "self",
        {**UPPER, **CHECKED},
        of_one("self", _square("**", "")),
        _root,
        "L L' = A",
        types=with_integers,
    ),
    matrix_rule("cholesky", "self", UPPER, of_one("self", _square("**")), _root, "L L' = A"),
    matrix_rule("cholesky_inverse", "self", UPPER, of_one("self", _square("**")), _of_root, "y = (L L')^-1"),
    matrix_rule(
        "cholesky_solve", "self input2", UPPER, solving("input2", "self"), _of_root, "y = (L L')^-1 B", linear=(0,)
    ),
    matrix_rule(
        "linalg_solve_triangular",
        "self B",
        {"upper": REQUIRED, "left": True, "unitriangular": False},
        solving("self", "B"),
        _triangular_solved,
        "y = A^-1 B, of one triangle of A",
        linear=(1,),
    ),
)
