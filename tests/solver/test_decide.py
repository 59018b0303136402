"""A claim is decided once and confirmed once, whether a stage or a cone of the sweep makes it."""

from dataclasses import replace

import numpy as np
import pytest

from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import Goal, InternalError, Obligation, PlainTerms, SolverError, Terms, decide

OPTIONS = SolverOptions(solvers=("z3",))


def goal(terms, same=True):
    x, y = terms.real("x"), terms.real("y")
    other = x * x + x * y * (1 if same else 2)
    return Goal("y", np.array([x * (x + y)], dtype=object), np.array([other], dtype=object))


def claim(same=True):
    terms = Terms()
    return Obligation(terms, (goal(terms, same),))


def test_a_proof_is_confirmed_on_terms_that_are_made_anew():
    outcome = decide(claim(), lambda: (goal(PlainTerms()),), OPTIONS)
    assert [(answer.solver, answer.said) for answer in outcome.answers] == [("z3", "unsat")]


def test_a_solver_that_shows_the_contrary_is_a_bug_and_no_verdict():
    with pytest.raises(InternalError, match="proved, and z3 shows inputs"):
        decide(claim(), lambda: (goal(PlainTerms(), same=False),), OPTIONS)


def test_where_nothing_can_be_written_plainly_nobody_is_asked():
    def refuses():
        raise SolverError("it cannot be written")

    outcome = decide(claim(), refuses, OPTIONS)
    assert isinstance(outcome, Proved)
    assert [(answer.said, answer.asked, answer.total) for answer in outcome.answers] == [("", 0, 1)]
    assert not decide(claim(), refuses, replace(OPTIONS, z3=False)).answers


def test_what_is_found_besides_a_proof_stands_against_it():
    def never():
        raise AssertionError("it was asked")

    told = Unknown("not at other shapes")
    assert decide(claim(), never, OPTIONS, lambda proved: told) == told
    assert isinstance(decide(claim(same=False), never, OPTIONS, never), Refuted)
