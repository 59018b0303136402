"""What is solved with matrices, and determinants: taken apart into inverses, factors and products.

Which factors a determinant comes with depends on how its matrix lies in memory: of its transpose where it lies row by
row, else of itself. Whoever uses them, as gradients do, goes by that, too.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

_ATEN = torch.ops.aten


def by_memory(name: str, given: Mapping[str, Any]) -> Callable[..., Any] | None:
    """What a determinant is taken apart into whose matrix does not lie row by row; None of any other operator."""
    if name not in ("_linalg_det", "_linalg_slogdet") or given["A"].is_contiguous():
        return None
    return partial(_determinant, getattr(_ATEN, name))


def _determinant(operator: Any, matrix: Any) -> Any:
    found = operator(matrix.clone(memory_format=torch.contiguous_format))[:-2]
    return (*found, *_ATEN.linalg_lu_factor_ex(matrix)[:2])


def _solved(matrix: Any, sides: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """What is solved, the factors of the matrix, and whether there are any."""
    inverse, failure = _ATEN.linalg_inv_ex(matrix)
    factors, places, _ = _ATEN.linalg_lu_factor_ex(matrix)
    vectors = sides.dim() == 1 or sides.shape == matrix.shape[:-1]
    sides = sides.unsqueeze(-1) if vectors else sides
    made = inverse @ sides if left else sides @ inverse
    return made.squeeze(-1) if vectors else made, factors, places, failure


def _triangular(
    sides: Any, matrix: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """What is solved with a triangle of a matrix, or of its transpose, and the matrix."""
    batch = torch.broadcast_shapes(sides.shape[:-2], matrix.shape[:-2])
    turned = matrix.transpose(-2, -1) if transpose else matrix
    made = _ATEN.linalg_solve_triangular(turned, sides, upper=upper != transpose, unitriangular=unitriangular)
    return made, matrix.expand(*batch, *matrix.shape[-2:]).clone()


TAKEN_APART: Mapping[str, Callable[..., Any]] = {"_linalg_solve_ex": _solved, "triangular_solve": _triangular}
"""By the names of operators."""
