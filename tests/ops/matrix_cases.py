"""Nodes of operators of whole matrices: regular ones, symmetric ones, and factors with their places."""

import numpy as np

from tests.ops.harness import nonzero, real


def regular(rng, shape):
    """Matrices whose diagonal is greater than all else."""
    return real(rng, shape) / 4 + 4 * np.eye(shape[-2], shape[-1])


def definite(rng, shape):
    """Symmetric matrices of which all eigenvalues are positive, and different."""
    found = real(rng, shape)
    return found @ np.swapaxes(found, -1, -2) + np.diag(np.arange(1.0, shape[-1] + 1))


def places(rng, shape):
    """With which row at or behind it each row changes places, counted from 1."""
    found = [rng.integers(k + 1, shape[-1] + 1, shape[:-1]) for k in range(shape[-1])]
    return np.stack(found, -1).astype(np.int32)


def nodes(node):
    """node: makes one."""
    square, batch = (3, 3), (2, 3, 3)
    for name in ("linalg_inv_ex", "linalg_lu_factor_ex", "linalg_lu", "_linalg_det", "_linalg_slogdet"):
        yield node(name, square, fill=regular)
        yield node(name, batch)
    for shape in ((2, 3), (2, 4, 2)):
        for name in ("linalg_lu_factor_ex", "linalg_lu", "linalg_qr", "geqrf"):
            yield node(name, shape)
        for mode in ("complete", "r"):
            yield node("linalg_qr", shape, mode=mode)
        yield node("_linalg_svd", shape)
        yield node("_linalg_svd", shape, full_matrices=True)
        yield node("_linalg_svd", shape, compute_uv=False)
        yield node("linalg_pinv.atol_rtol_tensor", shape)
        yield node("linalg_pinv.atol_rtol_tensor", shape, shape[:-2], fill=(real, nonzero), absent=("atol",))
        for unpacked in ({}, {"unpack_data": False}, {"unpack_pivots": False}):
            yield node("lu_unpack", shape, (*shape[:-2], 2), fill=(real, places), **unpacked)
    yield node("linalg_pinv.atol_rtol_tensor", batch, (), fill=(definite, nonzero), hermitian=True)
    for way in ({}, {"adjoint": True}, {"left": False}, {"left": False, "adjoint": True}):
        yield node("linalg_lu_solve", batch, (2, 3), batch, fill=(regular, places, real), **way)
    yield node("linalg_lu_solve", square, (3,), (2, 3, 2), fill=(regular, places, real))
    for upper in (False, True):
        yield node("linalg_cholesky_ex", batch, fill=definite, upper=upper)
        yield node("cholesky", square, fill=definite, upper=upper)
        yield node("cholesky_inverse", batch, fill=regular, upper=upper)
        yield node("cholesky_solve", (2, 3, 2), batch, fill=(real, regular), upper=upper)
        for way in ({"left": False}, {"unitriangular": True}):
            yield node("linalg_solve_triangular", batch, batch, fill=(regular, real), upper=upper, **way)
        yield node("_linalg_eigh", batch, fill=definite, UPLO="U" if upper else "L")
    yield node("linalg_solve_triangular", (2, 3, 3), (3, 2), fill=(regular, real), upper=False)
    yield node("_linalg_eigh", square, fill=definite, compute_v=False)
    yield node("linalg_householder_product", (2, 3, 2), (2, 2))
    yield node("linalg_householder_product", (3, 3), (2,))
    yield node("linalg_matrix_exp", batch)
    yield node("linalg_matrix_exp", (4, 4), fill=derived)


def derived(rng, shape):
    """A matrix and a direction, as derivatives of its exponential have them."""
    size = shape[-1] // 2
    matrix = real(rng, (size, size))
    return np.block([[matrix, real(rng, (size, size))], [np.zeros((size, size)), matrix]])
