"""Counterexamples of few variables are made small to a single entry; of many, within bounds."""

import importlib

import numpy as np
import pytest

from tests.solver.build import array
from verdict.options import SolverOptions
from verdict.outcome import Refuted
from verdict.solver import Goal, Obligation, Terms, check

MINIMIZE = importlib.import_module("verdict.solver.minimize")


def refuted(count):
    """A sum of so many variables, put against that of all but one."""
    terms = Terms()
    every = array(terms, "x", count)
    sums = (np.array([some.sum()], dtype=object) for some in (every, every[1:]))
    return check(Obligation(terms, (Goal("sum", *sums),)), SolverOptions(z3=False))


@pytest.fixture
def points(monkeypatch):
    """How many points each trial is given."""
    counts, first = [], MINIMIZE._Trial.first

    def counted(self, points):
        counts.extend([len(points)] if points else [])
        return first(self, points)

    monkeypatch.setattr(MINIMIZE._Trial, "first", counted)
    return counts


def test_of_few_variables_one_entry_is_left(points):
    found = refuted(6)
    assert isinstance(found, Refuted)
    assert sorted(abs(value) for _, value in found.witness) == [0, 0, 0, 0, 0, 1]
    assert max(points) > 6


def test_of_many_variables_few_points_are_asked(points):
    found = refuted(3_000)
    assert isinstance(found, Refuted)
    assert max(points) <= 3
    assert len(points) <= MINIMIZE._TERMS // 3_000 + 2
