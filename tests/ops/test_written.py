"""What is read and written at positions that are numbers, all at once: as one element after the other."""

import numpy as np
import pytest

from verdict.ops import RULES
from verdict.solver import Terms

RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(3, 5))
SOURCE = RANDOM.normal(size=(2, 4))
ALONG = {0: RANDOM.integers(0, 3, (2, 4)), 1: RANDOM.integers(0, 5, (2, 4))}
"""Positions of which some are the same, along either dimension."""


def symbols(values):
    terms = Terms()
    found = np.empty(values.shape, dtype=object)
    for place in np.ndindex(*values.shape):
        found[place] = terms.real(f"v{place}")
    return found


def made(op, *inputs, **attrs):
    return RULES[op].forward(inputs, attrs)[0]


@pytest.mark.parametrize("x", [X, symbols(X)], ids=["numbers", "terms"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gathered(x, dim):
    index = ALONG[dim % 2]
    found = made("aten.gather", x, index, dim=dim)
    assert found.shape == index.shape
    assert all(found[i, j] == x[(i, index[i, j]) if dim else (index[i, j], j)] for i, j in np.ndindex(*index.shape))


@pytest.mark.parametrize("op", ["aten.scatter.src", "aten.scatter_add"])
@pytest.mark.parametrize("dim", [0, 1])
def test_scattered(op, dim):
    index = ALONG[dim]
    due = X.copy()
    for i, j in np.ndindex(*index.shape):
        place = (i, index[i, j]) if dim else (index[i, j], j)
        due[place] = SOURCE[i, j] + (due[place] if op.endswith("add") else 0)
    assert np.array_equal(made(op, X, index, SOURCE, dim=dim), due)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "columns"])
def test_put_and_taken(accumulate, turned):
    """Negative positions count from the end; of what is written twice the last stays, however it lies in memory."""
    rows, columns = np.array([[0, -1, 2, 2], [1, 2, -1, 2]]), np.array([[4, -1, 0, 0], [1, 4, 4, 0]])
    values = SOURCE
    if turned:
        rows, columns, values = (np.asfortranarray(each.T).T for each in (rows, columns, values))
    due = X.copy()
    for place in np.ndindex(*rows.shape):
        at = rows[place], columns[place]
        due[at] = values[place] + (due[at] if accumulate else 0)
    found = made("aten.index_put", X, rows, columns, values, indices_count=2, accumulate=accumulate)
    assert np.array_equal(found, due)
    assert np.array_equal(made("aten.index.Tensor", X, rows, columns, indices_count=2), X[rows, columns])


def test_outside():
    with pytest.raises(IndexError, match="outside of the 5"):
        made("aten.gather", X, ALONG[1] + 3, dim=1)
    with pytest.raises(IndexError, match="outside of the 5"):
        made("aten.gather", X, ALONG[1] - 5, dim=1)


@pytest.mark.parametrize("accumulate", [False, True])
def test_what_is_not_in_the_row_that_is_written_stays(accumulate):
    """As it is where the column is known to be one; else it has a value only where it is one."""
    x = symbols(X)
    terms = x[0, 0].terms
    rows, inside, anywhere = np.array([1]), np.empty(1, dtype=object), np.empty(1, dtype=object)
    inside[0], anywhere[0], value = terms.index("i", 5), terms.integer("n"), np.array([terms.real("w")], dtype=object)
    attrs = {"indices_count": 2, "accumulate": accumulate}
    known, unknown = (made("aten.index_put", x, rows, columns, value, **attrs) for columns in (inside, anywhere))
    for i, j in np.ndindex(*x.shape):
        assert (known[i, j] is x[i, j]) is (i != 1)
        assert known[i, j].total
        assert not unknown[i, j].total
