"""Random expressions: what is proved agrees at random points, what is refuted replays, what is equal is proved."""

import random
from collections import Counter
from fractions import Fraction
from importlib.util import find_spec

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.solver.build import obligation
from tests.solver.recipes import build, mutate, recipe, rewrite
from tests.solver.replay import assert_replays, value_of
from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted
from verdict.solver import Goal, PlainTerms, Terms, check, confirm
from verdict.solver.normal import NormalForms
from verdict.solver.plain import plain
from verdict.solver.ring import Ring

FAST = SolverOptions(z3=False)
SOLVERS = ("z3", "cvc5") if find_spec("cvc5") else ("z3",)
seeds = st.integers(0, 2**32 - 1)
examples = settings(max_examples=150, deadline=None, derandomize=True)


def random_point(rng, terms):
    values = {"p": Fraction(rng.randint(1, 12), 4), "i": Fraction(rng.randrange(3))}
    return {name: values.get(name, Fraction(rng.randint(-8, 8), 4)) for name in terms.variables}


def agree(terms, a, b, rng, points=12):
    """Whether two terms have the same value wherever both are numbers of a size that digits can hold."""
    with mpmath.workdps(400):
        for _ in range(points):
            point = random_point(rng, terms)
            x, y = value_of(a, point), value_of(b, point)
            small = mpmath.isfinite(x) and mpmath.isfinite(y) and abs(x) < mpmath.mpf(10) ** 100
            if small and abs(x - y) > mpmath.mpf(10) ** -100 * (1 + abs(x)):
                return False
    return True


@examples
@given(seeds)
def test_equal_normal_forms_are_equal_values(seed):
    rng = random.Random(seed)
    terms = Terms()
    first = recipe(rng, 4)
    a, b = build(terms, first), build(terms, mutate(rng, first))
    forms = NormalForms(Ring(5_000))
    forms.add(terms.below([a, b]))
    if forms.of(a) == forms.of(b):
        assert agree(terms, a, b, rng)


@examples
@given(seeds)
def test_mutants_are_judged_as_their_values_judge_them(seed):
    rng = random.Random(seed)
    terms = Terms()
    first = recipe(rng, 3)
    a, b = build(terms, first), build(terms, mutate(rng, first))
    question = obligation(terms, ("y", a, b))
    outcome = check(question, FAST)
    if isinstance(outcome, Proved):
        assert agree(terms, a, b, rng)
    if isinstance(outcome, Refuted):
        assert_replays(question, outcome)


@examples
@given(seeds)
def test_rewritten_expressions_are_never_refuted(seed):
    rng = random.Random(seed)
    terms = Terms()
    first = recipe(rng, 4)
    a, b = build(terms, first), build(terms, rewrite(rng, first))
    assert not isinstance(check(obligation(terms, ("y", a, b)), FAST), Refuted)


def test_nearly_all_rewritten_expressions_are_proved():
    proved = 0
    for seed in range(150):
        rng = random.Random(seed)
        terms = Terms()
        first = recipe(rng, 4)
        a, b = build(terms, first), build(terms, rewrite(rng, first))
        proved += isinstance(check(obligation(terms, ("y", a, b)), FAST), Proved)
    assert proved >= 143


def test_nearly_all_mutants_are_decided():
    undecided = 0
    for seed in range(150):
        rng = random.Random(seed)
        terms = Terms()
        first = recipe(rng, 3)
        a, b = build(terms, first), build(terms, mutate(rng, first))
        undecided += not isinstance(check(obligation(terms, ("y", a, b)), FAST), Proved | Refuted)
    assert undecided <= 5


@pytest.mark.parametrize("seed", range(40))
def test_z3_never_contradicts_the_normal_form(seed):
    rng = random.Random(1000 + seed)
    terms = Terms()
    first = recipe(rng, 3)
    second = rewrite(rng, first) if seed % 2 else mutate(rng, first)
    question = obligation(terms, ("y", build(terms, first), build(terms, second)))
    fast, slow = check(question, FAST), check(question, SolverOptions(z3_timeout=0.2))
    assert type(fast) is type(slow) or not isinstance(fast, Proved | Refuted)


class Written(PlainTerms):
    """Plain terms that take recipes: what is positive is an exponential."""

    def positive(self, name):
        return self.real(name).exp()

    def constant(self, value):
        return plain(value)


def written(first, second):
    terms = Written()
    sides = (np.array([plain(build(terms, side))], dtype=object) for side in (first, second))
    return (Goal("y", *sides),)


@pytest.mark.parametrize("change", [rewrite, mutate], ids=["identities", "near-identities"])
def test_solvers_that_see_no_normal_form_never_contradict_it(change):
    """100 of each; `confirm` raises where a solver shows the contrary of what was decided."""
    said = Counter()
    options = SolverOptions(z3_timeout=0.05, solvers=SOLVERS)
    for seed in range(100):
        rng = random.Random(5000 + seed)
        terms = Terms()
        first = recipe(rng, 3)
        second = change(rng, first)
        outcome = check(obligation(terms, ("y", build(terms, first), build(terms, second))), FAST)
        if isinstance(outcome, Proved | Refuted):
            answers = confirm(written(first, second), outcome, options)
            said.update((type(outcome).__name__, answer.said) for answer in answers)
    expected = ("Proved", "unsat") if change is rewrite else ("Refuted", "sat")
    assert said[expected] > 50 * len(SOLVERS), said
    assert said["Refuted", "unsat"] == said["Proved", "sat"] == 0
