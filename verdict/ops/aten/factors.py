"""Functions of whole matrices: on numbers what they are, on terms unknown functions of all elements.

A matrix of terms is one unknown function of its elements, its *whole*, and each element of an inverse or a factor an
unknown function of that. So equal matrices have equal factors, and nothing else is known of them. It is no restriction
that the whole is one number: there are as many numbers as matrices.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from verdict.errors import ShapeError
from verdict.graph import Shape
from verdict.ops import numbers
from verdict.ops.aten.form import exactly
from verdict.ops.elements import is_number
from verdict.ops.rule import Array

MOST_WHOLE = 4096
"""The most elements of a matrix of terms, 64 rows of 64: of more, each element of a factor takes too long."""
REGULAR = "regular"
"""An unknown function of a matrix that is zero where it has no inverse, or no factor."""
TERMS = 20
"""Of the series of exp(A / 2^k), whose norm is at most a half: what is left out is below 1e-24."""


class Whole:
    """All elements of some arrays, and what is made of them."""

    def __init__(self, *parts: Array) -> None:
        self.parts = parts
        self.known = not any(map(numbers.has_terms, parts))
        self._objects = any(map(numbers.of_objects, parts))
        self._term: Any = None if self.known else _joined(parts)

    def of(self, name: str, shape: Shape) -> Array:
        """The function `name` of FUNCTIONS, an array of this shape; no number where it has no value."""
        if self.known:
            found = _computed(FUNCTIONS[name], self.parts, shape)
            return numbers.each(exactly, found) if self._objects else found
        made = np.empty(shape, dtype=object)
        for place in np.ndindex(*shape):
            made[place] = self._term.opaque(name, *place)
        return made

    def where_regular(self, made: Array) -> Array:
        """What is made, where the whole has an inverse or a factor: the functions of numbers say so themselves."""
        return made if self.known else np.asarray(made + 0 / self._term.opaque(REGULAR))


def _joined(parts: Sequence[Array]) -> Any:
    """The unknown function of all elements. Its name says of which shapes they are, and which of them is first."""
    values = [value for part in parts for value in part.flat]
    if len(values) > MOST_WHOLE:
        raise ShapeError(f"a factor of {len(values):,} elements is an unknown function, the limit is {MOST_WHOLE:,}")
    first = next(place for place, value in enumerate(values) if not is_number(value))
    shapes = " and ".join("x".join(map(str, part.shape)) or "1" for part in parts)
    return values.pop(first).opaque(f"whole of {shapes} at {first}", *values)


def _computed(function: Callable[..., Any], parts: Sequence[Array], shape: Shape) -> Array:
    try:
        with np.errstate(all="ignore"):
            made = np.asarray(function(*(part.astype(np.float64) for part in parts)), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.full(shape, np.nan)
    return made.reshape(shape)


def square(lower: Array) -> Array:
    """The lower triangle of a matrix, whose elements are given one row after the other; zeros above it."""
    size = int((np.sqrt(8 * lower.size + 1) - 1) / 2)
    made = np.zeros((size, size))
    made[np.tril_indices(size)] = lower
    return made


def _symmetric(lower: Array) -> Array:
    half = square(lower)
    return np.asarray(half + np.tril(half, -1).T)


def _eliminated(matrix: Array) -> tuple[Array, Array]:
    """L without its ones and U in one matrix, and with which row each has changed places, counted from 1."""
    made, places = matrix.copy(), []
    for k in range(min(matrix.shape)):
        best = k + int(np.argmax(np.abs(made[k:, k])))
        places.append(best + 1)
        made[[k, best]] = made[[best, k]]
        if made[k, k]:
            made[k + 1 :, k] /= made[k, k]
            made[k + 1 :, k + 1 :] -= np.outer(made[k + 1 :, k], made[k, k + 1 :])
    return made, np.array(places, dtype=np.float64)


def _order(places: Array, size: int) -> Array:
    """The matrix P of P L U: in which order rows stand that have changed places one after the other."""
    order = np.arange(size)
    for k, place in enumerate(places.astype(np.int64)):
        order[[k, place - 1]] = order[[place - 1, k]]
    return np.eye(size)[:, order]


def _first(failed: Any) -> float:
    """Which is the first that failed, counted from 1; 0 where none has."""
    return float(np.argmax(failed) + 1) if np.any(failed) else 0.0


def _is_definite(lower: Array, size: int) -> bool:
    """Whether so many rows and columns of a symmetric matrix have a root."""
    try:
        return bool(np.isfinite(np.linalg.cholesky(_symmetric(lower)[:size, :size])).all())
    except np.linalg.LinAlgError:
        return False


def _of_factors(factors: Array, places: Array) -> Array:
    size = len(factors)
    lower, upper = np.tril(factors, -1) + np.eye(size), np.triu(factors)
    return np.asarray(np.linalg.inv(_order(places, size) @ lower @ upper))


def _exponential(matrix: Array) -> Array:
    norm = float(np.abs(matrix).sum(axis=0).max())
    halvings = max(0, int(np.ceil(np.log2(norm))) + 1) if norm and np.isfinite(norm) else 0
    part = made = np.eye(len(matrix))
    for k in range(1, TERMS):
        part = part @ (matrix / 2**halvings) / k
        made = made + part
    return np.asarray(np.linalg.matrix_power(made, 2**halvings))


def _slopes(matrix: Array) -> Array:
    """[k, l, i, j]: how element i, j of the exponential changes with element k, l of the matrix."""
    size = len(matrix)
    made = np.zeros((size,) * 4)
    for place in np.ndindex(size, size):
        along = np.zeros((size, size))
        along[place] = 1
        made[place] = _exponential(np.block([[matrix, along], [np.zeros((size, size)), matrix]]))[:size, size:]
    return made


def _pseudoinverse(matrix: Array, tolerances: Array) -> Array:
    """Of singular values the inverse, but for those up to the tolerance: one that is absolute, or relative."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    least = max(tolerances[0], tolerances[1] * values.max(initial=0.0))
    inverse = np.where(values > least, 1 / np.where(values > least, values, 1), 0)
    return np.asarray(right.T @ (inverse[:, None] * left.T))


def _reflections(vectors: Array, factors: Array) -> Array:
    """The first columns of the product of I - t v v' over the columns v, whose elements are 1 at the diagonal and 0
    above it.
    """
    made = np.eye(*vectors.shape)
    for k in range(len(factors) - 1, -1, -1):
        v = np.concatenate([np.zeros(k), [1.0], vectors[k + 1 :, k]])
        made = made - factors[k] * np.outer(v, v @ made)
    return made


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "inverse": np.linalg.inv,
    "inverse of lower": lambda lower: np.linalg.inv(square(lower)),
    "factors": lambda matrix: _eliminated(matrix)[0],
    "places of factors": lambda matrix: _eliminated(matrix)[1],
    "order of factors": lambda matrix: _order(_eliminated(matrix)[1], len(matrix)),
    "order of places": lambda places, size: _order(places, int(size[0])),
    "inverse of factors": _of_factors,
    "determinant": np.linalg.det,
    "sign of determinant": lambda matrix: np.linalg.slogdet(matrix)[0],
    "logarithm of determinant": lambda matrix: np.linalg.slogdet(matrix)[1],
    "root": lambda lower: np.linalg.cholesky(_symmetric(lower)),
    "orthogonal": lambda matrix: np.linalg.qr(matrix)[0],
    "all orthogonal": lambda matrix: np.linalg.qr(matrix, "complete")[0],
    "triangular": lambda matrix: np.linalg.qr(matrix, "r"),
    "reflectors": lambda matrix: np.linalg.qr(matrix, "raw")[0].T,
    "factors of reflectors": lambda matrix: np.linalg.qr(matrix, "raw")[1],
    "product of reflectors": _reflections,
    "eigenvalues": lambda lower: np.linalg.eigvalsh(_symmetric(lower)),
    "eigenvectors": lambda lower: np.linalg.eigh(_symmetric(lower))[1],
    "eigenvectors by upper": lambda upper: np.linalg.eigh(_symmetric(upper), "U")[1],
    "left vectors": lambda matrix: np.linalg.svd(matrix, full_matrices=False)[0],
    "all left vectors": lambda matrix: np.linalg.svd(matrix)[0],
    "singular values": lambda matrix: np.linalg.svd(matrix, compute_uv=False),
    "right vectors": lambda matrix: np.linalg.svd(matrix, full_matrices=False)[2],
    "all right vectors": lambda matrix: np.linalg.svd(matrix)[2],
    "pseudoinverse": _pseudoinverse,
    "exponential": _exponential,
    "slopes of exponential": _slopes,
    "failure of factors": lambda matrix: _first(_eliminated(matrix)[0].diagonal() == 0),
    "failure of root": lambda lower: _first([not _is_definite(lower, k + 1) for k in range(len(square(lower)))]),
}
"""By their names. `lower`: the elements of a lower triangle, one row after the other."""
