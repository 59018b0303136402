"""Inverses and factors of matrices of terms: the same of equal matrices, and nothing else is proved of them."""

import numpy as np
import pytest

from tests.solver.build import array
from verdict.errors import ShapeError
from verdict.ops import RULES
from verdict.ops.aten.matrices import RULES as FACTORS
from verdict.ops.aten.spectra import RULES as SPECTRA
from verdict.ops.signs import MATRICES
from verdict.outcome import Proved
from verdict.solver import Goal, Obligation, SolverError, SolverOptions, Terms, check


def aten(name, *inputs, output=0, **attrs):
    return RULES[f"aten.{name}"].forward(inputs, attrs)[output]


def proved(terms, single, parallel):
    try:
        found = check(Obligation(terms, (Goal("goal", single, parallel),)), SolverOptions())
    except SolverError:
        return False
    return isinstance(found, Proved)


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def matrices(terms):
    return array(terms, "a", 2, 2, 2)


NAMES = ("linalg_inv_ex", "linalg_lu_factor_ex", "linalg_cholesky_ex", "_linalg_det", "linalg_qr", "_linalg_eigh",
         "_linalg_svd", "linalg_matrix_exp")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_each_matrix_of_a_batch_is_by_itself(terms, matrices, name):
    whole = aten(name, matrices)
    parts = [aten(name, matrices[k : k + 1]) for k in (0, 1)]
    assert proved(terms, whole, np.concatenate(parts))
    assert not proved(terms, whole, np.concatenate(parts[::-1]))


@pytest.mark.parametrize("name", NAMES)
def test_other_matrices_have_others(terms, matrices, name):
    assert not proved(terms, aten(name, matrices), aten(name, matrices + np.eye(2, dtype=np.int64)))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("linalg_cholesky_ex", "_linalg_eigh")])
def test_a_transpose_is_another_matrix(terms, matrices, name):
    assert not proved(terms, aten(name, matrices), aten(name, np.swapaxes(matrices, 1, 2)))


def test_nothing_times_an_inverse_is_not_nothing(terms, matrices):
    """There is none where a matrix is singular."""
    assert not proved(terms, matrices, matrices + 0 * aten("linalg_inv_ex", matrices))


def test_whether_there_is_a_root_is_not_known(terms, matrices):
    """So what is chosen where there is none must be the same."""
    failed = aten("linalg_cholesky_ex", matrices, output=1).reshape(2, 1, 1)
    ways = [aten("where.self", aten("eq.Scalar", failed, other=0), matrices, other) for other in (matrices, -matrices)]
    assert proved(terms, matrices, ways[0])
    assert not proved(terms, matrices, ways[1])


def test_what_is_solved_is_linear_in_the_right_side(terms, matrices):
    sides = array(terms, "b", 2, 2, 3)
    triangle = {"upper": False}
    for name, given in (("linalg_solve_triangular", triangle), ("cholesky_solve", {})):
        def solved(right, name=name, given=given):
            return aten(name, *((matrices, right) if given else (right, matrices)), **given)

        assert proved(terms, solved(3 * sides), 3 * solved(sides))
        assert proved(terms, solved(sides)[..., 1:], solved(sides[..., 1:]))
        assert not proved(terms, solved(sides), solved(sides + 1))


def test_the_derivative_of_an_exponential_is_linear_in_its_direction(terms, matrices):
    def along(direction):
        zeros = np.zeros((2, 2), dtype=np.int64)
        return aten("linalg_matrix_exp", np.block([[matrices[0], direction], [zeros, matrices[0]]]))[:2, 2:]

    assert proved(terms, along(2 * matrices[1]), 2 * along(matrices[1]))
    assert not proved(terms, along(matrices[1]), along(matrices[1] + 1))


def test_great_matrices_are_refused(terms):
    with pytest.raises(ShapeError, match="4,225 elements"):
        aten("linalg_inv_ex", array(terms, "a", 65, 65))


def test_every_operator_of_matrices_may_make_numbers_of_none():
    names = {rule.name.removeprefix("aten.").partition(".")[0] for rule in (*FACTORS, *SPECTRA)}
    assert names == MATRICES
