"""Obligations asked anew as plain arithmetic: right ones are confirmed, wrong ones are found, whoever decided them."""

import importlib
import math
from fractions import Fraction
from importlib.util import find_spec

import numpy as np
import pytest
import z3

from tests.builders import BACKWARD, Builder, declare, mlp
from verdict.graph import ABSENT, ACCUMULATOR, GRADIENT, INPUT, WEIGHT
from verdict.options import Options, SolverOptions
from verdict.outcome import Proved, Refuted
from verdict.pipeline import verify
from verdict.solver import Goal, InternalError, PlainTerms, Terms, confirm, question
from verdict.solver.plain import plain
from verdict.solver.plain_values import differs
from verdict.solver.solvers import _said, says
from verdict.stage.numbers import Larger

SOLVERS = ("z3", "cvc5") if find_spec("cvc5") else ("z3",)
OPTIONS = SolverOptions(solvers=SOLVERS)


def goals(make):
    """The goal (single, parallel) that `make` builds of the variables x, y and z and the index i."""
    terms = PlainTerms()
    pair = make(*(terms.real(name) for name in "xyz"), terms.index("i", 3))
    single, parallel = (np.array([side], dtype=object) for side in pair)
    return (Goal("y", single, parallel),)


SAME = {
    "regrouped": lambda x, y, z, i: (x * (y + z), z * x + y * x),
    "halves": lambda x, y, z, i: (x / 2 + x * Fraction(1, 2), x),
    "sigmoid": lambda x, y, z, i: (1 / (1 + (-x).exp()), 1 / ((-x).exp() + 1)),
    "root": lambda x, y, z, i: ((x * x + 1).power(Fraction(1, 2)) ** 2, 1 + x * x),
    "reciprocal root": lambda x, y, z, i: ((x * x + 1).power(Fraction(-1, 2)) ** 2 * (x * x + 1), 1 - x + x),
    "largest": lambda x, y, z, i: (x.maximum(y.maximum(z)), z.maximum(x).maximum(y)),
    "lookup": lambda x, y, z, i: (x, x * (i.indicator(0) + i.indicator(1) + i.indicator(2))),
    "unknown function": lambda x, y, z, i: ((x + y).opaque("f"), (y + x).opaque("f")),
    "masked": lambda x, y, z, i: (x.maximum(y + -np.inf).exp(), x.exp() + (z + -np.inf).exp()),
    "both masked": lambda x, y, z, i: (x + -np.inf, y + -np.inf),
    "less domain": lambda x, y, z, i: (x * y / y, x),
    "never masked": lambda x, y, z, i: (x, (1 - (i - i).indicator(0)).choose(-np.inf, x)),
    "masked alike": lambda x, y, z, i: (i.indicator(1).choose(-np.inf, x) for _ in "ab"),
}
OTHER = {
    "another sum": lambda x, y, z, i: (x * (y + z), z * x + y * y),
    "nearly": lambda x, y, z, i: (x / 3, x * Fraction(333333, 1000000)),
    "silu is no sigmoid": lambda x, y, z, i: (x / (1 + (-x).exp()), 1 / (1 + (-x).exp())),
    "sign lost by a root": lambda x, y, z, i: ((x * x).power(Fraction(1, 2)), x),
    "one of three": lambda x, y, z, i: (x.maximum(y.maximum(z)), x.maximum(y)),
    "one value missing": lambda x, y, z, i: (x, x * (i.indicator(0) + i.indicator(1))),
    "another argument": lambda x, y, z, i: (x.opaque("f"), y.opaque("f")),
    "unmasked": lambda x, y, z, i: (x + -np.inf, x + 0),
    "masked at one of three": lambda x, y, z, i: (x, i.indicator(1).choose(-np.inf, x)),
    "masked otherwise": lambda x, y, z, i: (i.indicator(1).choose(-np.inf, x), i.indicator(2).choose(-np.inf, x)),
    "more domain": lambda x, y, z, i: (x, x * y / y),
    "the logarithm's domain": lambda x, y, z, i: (x * 0, x.log() - x.log()),
    "true only at one point": lambda x, y, z, i: (x * x, x * 2 - 1),
}


@pytest.mark.parametrize("name", SAME)
def test_what_is_equal_is_confirmed_by_each_solver(name):
    answers = confirm(goals(SAME[name]), Proved(), OPTIONS)
    assert [(answer.solver, answer.said) for answer in answers] == [(solver, "unsat") for solver in SOLVERS]


@pytest.mark.parametrize("name", OTHER)
def test_a_wrong_proof_is_found(name):
    with pytest.raises(InternalError, match="proved, and z3 shows inputs"):
        confirm(goals(OTHER[name]), Proved(), OPTIONS)


def test_what_a_mask_leaves_out_is_no_difference():
    def masked(x, y, z, i):
        left = 1 - i.indicator(1)
        return i.indicator(1).choose(-np.inf, x).maximum(y).exp(), y.exp() * (1 - left) + left * x.maximum(y).exp()

    assert [answer.said for answer in confirm(goals(masked), Proved(), OPTIONS)] == ["unknown"] * len(SOLVERS)


@pytest.mark.skipif("cvc5" not in SOLVERS, reason="cvc5 is not installed")
@pytest.mark.parametrize("name", OTHER)
def test_the_second_solver_finds_it_too(name):
    with pytest.raises(InternalError, match="proved, and cvc5 shows inputs"):
        confirm(goals(OTHER[name]), Proved(), SolverOptions(solvers=("cvc5",)))


def test_a_wrong_refutation_is_found_and_a_right_one_is_not():
    with pytest.raises(InternalError, match="never differ"):
        confirm(goals(SAME["regrouped"]), Refuted((), ()), OPTIONS)
    assert {answer.said for answer in confirm(goals(OTHER["nearly"]), Refuted((), ()), OPTIONS)} == {"sat"}


def test_a_proposal_that_does_not_replay_accuses_nobody():
    law = goals(lambda x, y, z, i: ((x + y).exp(), x.exp() * y.exp()))
    assert {answer.said for answer in confirm(law, Proved(), OPTIONS)} == {"unknown"}


@pytest.mark.parametrize("name", ("remainder", "remainder at 1", "clamp", "shift_left in 32 bits", "bits as float32"))
def test_a_function_that_proofs_compute_of_indices_accuses_nobody(name):
    """Of the integers 0, 1 and 2, what is left of a division by 5 and by 7 is the same."""
    law = goals(lambda x, y, z, i: (i.opaque(name, 5), i.opaque(name, 7)))
    assert {answer.said for answer in confirm(law, Proved(), OPTIONS)} == {"unknown"}


def test_what_is_too_large_is_sampled_or_not_asked():
    terms = PlainTerms()
    x = np.array([terms.real(f"x{k}") for k in range(90)], dtype=object)
    found = question((Goal("y", x * 2, x + x),), limit=100)
    assert found is not None
    assert (1 < len(found.pairs) < found.total, found.total) == (True, 90)
    assert question((Goal("y", x.sum(keepdims=True), x.sum(keepdims=True)),), limit=100) is None


def test_questions_that_differ_in_names_alone_are_one_text_which_is_asked_once():
    texts, named = set(), set()
    for names in ("xy", "vu"):
        x, y = (PlainTerms().real(name) for name in names)
        goal = (Goal("y", np.array([x * y + x], dtype=object), np.array([x * (y + 1)], dtype=object)),)
        texts.add(question(goal).text)
        named.add(question(goal, named=True).text)
        assert tuple(question(goal).variables.values()) == tuple(names)
    assert len(texts) == 1
    assert len(named) == 2
    _said.cache_clear()
    answers = {says("z3", text, OPTIONS).answer for text in [*texts] * 3}
    assert answers == {"unsat"}
    assert (_said.cache_info().misses, _said.cache_info().hits) == (1, 2)


def test_inputs_that_are_proposed_are_those_of_the_names():
    terms = PlainTerms()
    x, y = terms.real("x"), terms.real("y")
    goal = (Goal("y", np.array([y - x + x], dtype=object), np.array([x + 1], dtype=object)),)
    with pytest.raises(InternalError, match=r"differ: \{'x': Fraction.*'y': Fraction"):
        confirm(goal, Proved(()), OPTIONS)


def test_plain_terms_stay_as_they_are_written():
    terms = PlainTerms()
    x = terms.real("x")
    assert (x + 0 is x, x * 1 is x, x - x is plain(0), x + x is x + x) == (False, False, False, False)


def test_a_point_decides_exactly():
    terms = PlainTerms()
    x = terms.real("x")
    third = Fraction(1, 3)
    assert not differs([(x * 3, x + x + x)], {"x": third})
    assert differs([(x.exp(), x.exp() + Fraction(1, 10**30))], {"x": third})
    assert not differs([(1 / x, x)], {"x": Fraction(0)}), "the single side has no value there"


def test_bits_of_what_is_no_fraction_are_not_known():
    """Elsewhere the point decides: that one pair is not known there is no error, and hides no other."""
    terms = PlainTerms()
    x = terms.real("x")
    joined = x.exp().opaque("bitwise and", 3)
    assert not differs([(joined, joined + 1)], {"x": Fraction(1, 3)})
    assert not differs([(x, x + joined * 0)], {"x": Fraction(1, 3)})
    ordered = x.exp().opaque("ranked", x.exp(), 0, 0)
    assert not differs([(ordered, ordered + 1)], {"x": Fraction(1, 3)})


def powers(exponent):
    """loss = sum((x * w)^exponent)."""
    b = Builder()
    x, w = b.tensor("x", (4, 6), INPUT), b.tensor("w", (6,), WEIGHT)
    b.op(0, "dataloader", [], [x])
    y = b.op(0, "mul", [x, w], [b.tensor("y", (4, 6))])
    z = b.op(0, "pow", [y], [b.tensor("z", (4, 6))], exponent=exponent)
    b.loss(0, b.op(0, "sum", [z], [b.tensor("loss", (1,))]))
    dz = b.op(0, "sum.grad", [b.seed(), z], [b.tensor("z.grad", (4, 6), GRADIENT)], BACKWARD)
    dy = b.op(0, "pow.grad", [dz, y], [b.tensor("y.grad", (4, 6), GRADIENT)], BACKWARD, exponent=exponent)
    dw = b.tensor("w.grad", (6,), ACCUMULATOR)
    b.op(0, "mul.grad", [dy, x, w], [ABSENT, dw], BACKWARD)
    declare(b, 0, w, dw)
    return b.plan()


def test_a_bug_in_our_terms_is_found(monkeypatch):
    options = Options(solver=SolverOptions(solvers=("z3",)))
    assert verify(powers(2), powers(3), options).verdict.name == "REFUTED"
    monkeypatch.setattr(Terms, "power", lambda self, term, exponent: term)
    assert verify(powers(2), powers(3), options).verdict.name == "REFUTED", "numbers at full shapes see it"
    monkeypatch.setattr(importlib.import_module("verdict.stage.run"), "on_numbers", lambda *_: Larger(""))
    with pytest.raises(InternalError):
        verify(powers(2), powers(3), options)


def test_the_report_counts_what_each_solver_said():
    report = verify(mlp(), mlp(2, 2, 1, 2), Options(solver=OPTIONS))
    assert report.verdict.name == "PROVED"
    assert [asked.solver for asked in report.proofs.solvers] == list(SOLVERS)
    for asked in report.proofs.solvers:
        assert asked.unsat == asked.obligations == report.proofs.distinct + report.proofs.laws
    silent = verify(mlp(), mlp(2, 2, 1, 2), Options(solver=SolverOptions(z3=False)))
    assert silent.proofs.solvers == ()


def test_a_question_is_smt_lib_that_stands_alone():
    asked = question(goals(SAME["reciprocal root"]))
    solver = z3.Solver()
    solver.from_string(asked.text)
    assert solver.check() == z3.unsat


@pytest.mark.parametrize(("off", "apart"), [(Fraction(0), False), (Fraction(1, 10**9), True)])
def test_an_irrational_constant_may_be_rounded_on_one_side(off, apart):
    """What is rounded to 64 bits where the other side keeps its formula shows no difference; what is far off does."""
    formula = PlainTerms().real("x").number(Fraction(3, 10)).exp()
    rounded = plain(Fraction(math.exp(0.3)) + off)
    assert differs([(formula, rounded)], {}) is apart
    assert differs([(rounded, formula)], {}) is apart
    assert differs([(-formula, rounded)], {})
