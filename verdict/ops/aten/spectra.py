"""Determinants, orthogonal factors, spectra and functions of matrices: unknown functions of whole matrices.

    _linalg_det    det A    _linalg_slogdet  its sign and the logarithm of its size
    linalg_qr      Q R = A  geqrf, linalg_householder_product  Q as reflections, and Q itself
    _linalg_eigh   A v = w v, of one triangle of A             _linalg_svd  U S V' = A
    linalg_pinv    A^+      linalg_matrix_exp                  exp(A)

Which vectors there are of one value, of either sign, is part of the function: it is another one where the upper
triangle is read. The determinant comes with the factors of the transpose of A, as torch makes them of a matrix that
lies row by row. The exponential of a matrix [M G; 0 M], whose upper right block is the derivative along G, is linear
in G.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verdict.ops import numbers
from verdict.ops.aten.batches import (
    Core,
    Parts,
    each_matrix,
    factored,
    lower_of,
    matrix_rule,
    of_matrices,
    of_one,
    rows_of,
)
from verdict.ops.aten.factors import Whole
from verdict.ops.aten.form import Arguments
from verdict.ops.elements import is_number
from verdict.ops.rule import Array, Axes, OpRule
from verdict.ops.types import with_determinant, with_logarithm

MOST_SLOPES = 1 << 16
"""The most derivatives of elements of an exponential by elements of its matrix, 16 rows of 16, that are told apart."""
EPSILON = 2.0**-52
"""Singular values are nothing that are less than this times the greatest and the number of rows or columns."""


def _determinant(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Parts:
        whole = Whole(matrix)
        if "slog" in args.name:
            logarithm = whole.where_regular(whole.of("logarithm of determinant", ()))
            found = [whole.of("sign of determinant", ()), logarithm]
        else:
            found = [whole.of("determinant", ())]
        return *found, *factored(matrix.T)[:2]

    return each_matrix(one, (args["A"], 2))


def _orthogonal(args: Arguments) -> tuple[Array, ...]:
    every = args["mode"] == "complete"

    def one(matrix: Array) -> Sequence[Array | None]:
        rows, columns = matrix.shape
        whole, size = Whole(matrix), min(rows, columns)
        square = whole.of("all orthogonal", (rows, rows)) if every else whole.of("orthogonal", (rows, size))
        upper = np.triu(whole.of("triangular", (size, columns)))
        if every:
            upper = np.concatenate([upper, np.zeros((rows - size, columns), dtype=np.int64)])
        return None if args["mode"] == "r" else square, upper

    return each_matrix(one, (args["A"], 2))


def _reflectors(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Parts:
        whole = Whole(matrix)
        return whole.of("reflectors", matrix.shape), whole.of("factors of reflectors", (min(matrix.shape),))

    return each_matrix(one, (args["self"], 2))


def _reflected(args: Arguments) -> Array:
    def one(vectors: Array, factors: Array) -> Parts:
        return (Whole(vectors, factors).of("product of reflectors", vectors.shape),)

    return each_matrix(one, (args["input"], 2), (args["tau"], 1))[0]


def _eigen(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Sequence[Array | None]:
        upper = args["UPLO"].upper() == "U"
        whole, name = Whole(lower_of(matrix, upper)), "eigenvectors by upper" if upper else "eigenvectors"
        vectors = whole.of(name, matrix.shape) if args["compute_v"] else None
        return whole.of("eigenvalues", (len(matrix),)), vectors

    return each_matrix(one, (args["A"], 2))


def _singular(args: Arguments) -> tuple[Array, ...]:
    def one(matrix: Array) -> Sequence[Array | None]:
        (rows, columns), whole = matrix.shape, Whole(matrix)
        size = min(rows, columns)
        values = whole.of("singular values", (size,))
        if not args["compute_uv"]:
            return None, values, None
        if args["full_matrices"]:
            return whole.of("all left vectors", (rows, rows)), values, whole.of("all right vectors", (columns, columns))
        return whole.of("left vectors", (rows, size)), values, whole.of("right vectors", (size, columns))

    return each_matrix(one, (args["A"], 2))


def _exponential(args: Arguments) -> Array:
    def one(matrix: Array) -> Parts:
        whole, size = Whole(matrix), len(matrix) // 2
        if whole.known or not _derives(matrix) or size**4 > MOST_SLOPES:
            return (whole.of("exponential", matrix.shape),)
        inner = Whole(matrix[:size, :size])
        made = inner.of("exponential", (size, size))
        along = matrix[:size, size:].reshape(1, -1)
        slopes = inner.of("slopes of exponential", (size, size, size, size)).reshape(size * size, size * size)
        slope = numbers.matmul(along, slopes).reshape(size, size)
        return (np.block([[made, slope], [matrix[size:, :size], made]]),)

    return each_matrix(one, (args["self"], 2))[0]


def _derives(matrix: Array) -> bool:
    """Whether a matrix is [M G; 0 M], M of terms."""
    size, odd = divmod(len(matrix), 2)
    if odd or not numbers.has_terms(matrix[:size, :size]):
        return False
    below = matrix[size:, :size].flat
    both = zip(matrix[:size, :size].flat, matrix[size:, size:].flat, strict=True)
    return all(is_number(x) and x == 0 for x in below) and all(
        x is y or (is_number(x) and is_number(y) and bool(x == y)) for x, y in both
    )


def _pseudoinverse(args: Arguments) -> Array:
    absolute, relative = args["atol"], args["rtol"]
    rows, columns = args["self"].shape[-2:]
    given = [(x, 0) for x in (absolute, relative) if x is not None]
    least = EPSILON * max(rows, columns) if absolute is None else 0

    def one(matrix: Array, *tolerances: Array) -> Parts:
        matrix = np.tril(matrix) + np.tril(matrix, -1).T if args["hermitian"] else matrix
        both = np.array([0, numbers.scalar(matrix, least)], dtype=matrix.dtype)
        both[[k for k, x in enumerate((absolute, relative)) if x is not None]] = [x.item() for x in tolerances]
        return (Whole(matrix, both).of("pseudoinverse", (columns, rows)),)

    return each_matrix(one, (args["self"], 2), *given)[0]


def _pseudoinverse_axes(args: Arguments) -> Axes:
    rows, columns = rows_of(args, "self", rectangular=True)
    tolerances = [(args[name], "") for name in ("atol", "rtol") if args[name] is not None]
    return of_matrices(args, [(args["self"], "**"), *tolerances], [("**", (columns, rows))])


def _reflected_axes(args: Arguments) -> Axes:
    rows, columns = rows_of(args, "input", rectangular=True)
    if args["tau"][-1:] > (columns,) or columns > rows:
        raise args.misfit(f"reflections of shapes {args['input']} and {args['tau']} do not fit")
    return of_matrices(args, [(args["input"], "**"), (args["tau"], "*")], [("**", (rows, columns))])


def _orthogonal_cores(args: Arguments, rows: int, columns: int) -> list[Core | None]:
    if args["mode"] not in ("reduced", "complete", "r"):
        raise args.misfit(f"mode is {args['mode']}")
    size = rows if args["mode"] == "complete" else min(rows, columns)
    return [None if args["mode"] == "r" else ("**", (rows, size)), ("**", (size, columns))]


def _eigen_cores(args: Arguments, rows: int, columns: int) -> list[Core | None]:
    return [("*", (rows,)), ("**", (rows, columns)) if args["compute_v"] else None]


def _singular_cores(args: Arguments, rows: int, columns: int) -> list[Core | None]:
    size = min(rows, columns)
    if args["driver"] is not None:
        raise args.unruled("vectors that a driver finds have no rule: others may have other signs")
    if not args["compute_uv"]:
        return [None, ("*", (size,)), None]
    left, right = (rows, columns) if args["full_matrices"] else (size, size)
    return [("**", (rows, left)), ("*", (size,)), ("**", (right, columns))]


def _factors_too(count: int) -> Any:
    """So many numbers, and factors."""
    return lambda args, rows, columns: [*[("", ())] * count, ("**", (rows, columns)), ("*", (rows,))]


def _same(args: Arguments, rows: int, columns: int) -> list[Core]:
    return [("**", (rows, columns))]


RULES: tuple[OpRule, ...] = (
    matrix_rule(
        "_linalg_det", "A", {}, of_one("A", _factors_too(1)), _determinant, "y = det A, and L U = P' A'",
        with_determinant,
    ),
    matrix_rule(
        "_linalg_slogdet", "A", {}, of_one("A", _factors_too(2)), _determinant,
        "the sign of det A, y = log |det A|, and L U = P' A'", with_logarithm,
    ),
    matrix_rule(
        "linalg_qr", "A", {"mode": "reduced"}, of_one("A", _orthogonal_cores, rectangular=True), _orthogonal, "Q R = A"
    ),
    matrix_rule(
        "geqrf", "self", {}, of_one("self", lambda args, m, n: [("**", (m, n)), ("*", (min(m, n),))], rectangular=True),
        _reflectors, "Q R = A, Q as reflections",
    ),
    matrix_rule(
        "linalg_householder_product", "input tau", {}, _reflected_axes, _reflected,
        "y = product of I - t v v' over reflections, its first columns",
    ),
    matrix_rule(
        "_linalg_eigh", "A", {"UPLO": "L", "compute_v": True}, of_one("A", _eigen_cores), _eigen,
        "A v = w v, of one triangle of A",
    ),
    matrix_rule(
        "_linalg_svd", "A", {"full_matrices": False, "compute_uv": True, "driver": None},
        of_one("A", _singular_cores, rectangular=True), _singular, "U S V' = A",
    ),
    matrix_rule(
        "linalg_pinv.atol_rtol_tensor", "self atol? rtol?", {"hermitian": False}, _pseudoinverse_axes, _pseudoinverse,
        "y = A^+",
    ),
    matrix_rule("linalg_matrix_exp", "self", {}, of_one("self", _same), _exponential, "y = exp(A)"),
)  # fmt: skip
