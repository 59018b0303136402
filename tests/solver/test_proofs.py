"""Equalities that differ in names alone are proved once; whatever else they differ in keeps them apart."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted
from verdict.solver import Goal, Obligation, Proofs, Terms, check, proofs
from verdict.solver.obligation import elements
from verdict.solver.proofs import forms_of

OPTIONS = SolverOptions(exhibit=False)


def obligation(make, names="xyz", sizes=(3,), both=False, premises=False, **known):
    terms = Terms()
    reals = [terms.real(name, **known) for name in names]
    indices = [terms.index(f"i{size}", size) for size in sizes]
    pair = make(*reals, *indices, terms)
    single, parallel = (np.array([side], dtype=object) for side in pair)
    held = ((reals[0], reals[1]),) if premises else ()
    return Obligation(terms, (Goal("y", single, parallel),), held, both)


def product(x, y, z, i, terms):
    return x * (y + z), z * x + y * x


def form(make, **more):
    question = obligation(make, **more)
    wanted = elements(question)
    return forms_of(question, wanted).get(wanted[0])


def test_names_make_no_difference():
    assert form(product) is not None
    assert form(product) == form(product, names="cab")


@pytest.mark.parametrize(
    "other",
    [
        lambda x, y, z, i, terms: (x * (y + z), z * x + y * y),
        lambda x, y, z, i, terms: (x * (y + 2 * z), z * x + y * x),
        lambda x, y, z, i, terms: (x * (y + z), z * x + y * x + 1),
        lambda x, y, z, i, terms: (x * (y + z), z * x * x + y * x),
        lambda x, y, z, i, terms: (x * (y + x), z * x + y * x),
        lambda x, y, z, i, terms: (z * x + y * x, x * (y + z)),
    ],
)
def test_other_sides_do(other):
    assert form(product) != form(other)


@pytest.mark.parametrize(
    "make",
    [
        lambda power: lambda x, y, z, i, terms: (x, x.power(Fraction(power, 2))),
        lambda value: lambda x, y, z, i, terms: (x, x * i.indicator(value)),
        lambda name: lambda x, y, z, i, terms: (x, x.opaque(f"f{name}")),
        lambda least: lambda x, y, z, i, terms: (x, terms.integer("n", least, 5)),
        lambda positive: lambda x, y, z, i, terms: (x, terms.positive("p") if positive == 1 else terms.real("p")),
    ],
)
def test_what_is_known_of_a_part_does(make):
    assert form(make(1)) is not None
    assert form(make(1)) == form(make(1))
    assert form(make(1)) != form(make(3))


def test_what_has_no_value_everywhere_does():
    assert form(product) != form(product, total=False)
    assert form(product) != form(product, both=True)


def test_another_size_of_an_index_does():
    def looked_up(x, y, z, i, terms):
        return x, x * i.indicator(0)

    assert form(looked_up) != form(looked_up, sizes=(4,))


@pytest.mark.parametrize(
    "make, more",
    [
        (product, {"premises": True}),
        (lambda x, y, z, i, terms: (x, terms.undefined("nothing")), {}),
        (lambda x, y, z, i, terms: (x, terms.whatever("f", (y,), lambda args: args[0])), {}),
        (lambda x, y, z, i, terms: (x, float("nan")), {}),
    ],
)
def test_what_is_more_than_terms_has_no_form(make, more):
    assert form(make, **more) is None


def test_what_is_one_term_everywhere_needs_none():
    assert form(lambda x, y, z, i, terms: (x * y, y * x)) is None
    assert form(lambda x, y, z, i, terms: (x / y, x / y)) is not None


def rows(make, count=6, **more):
    """An equality for each of some rows of variables, the last of which may be another."""
    terms = Terms()
    made = [make(*(terms.real(f"{name}{row}") for name in "xyz"), row, **more) for row in range(count)]
    single, parallel = (np.array(side, dtype=object) for side in zip(*made, strict=True))
    return Obligation(terms, (Goal("y", single, parallel),))


def distributed(x, y, z, row, wrong=None):
    return x * (y + z), z * x + (y if row != wrong else z) * x


@pytest.fixture
def looked_at(monkeypatch):
    """How many equalities were decided, one number for each time."""
    counts, module = [], import_module("verdict.solver.check")
    decide = module._decide

    def counted(question, pivots, wanted, options):
        counts.append(len(wanted))
        return decide(question, pivots, wanted, options)

    monkeypatch.setattr(module, "_decide", counted)
    return counts


def test_rows_that_are_alike_are_decided_once_and_counted_each(looked_at):
    quick = check(rows(distributed), OPTIONS)
    slow = check(rows(distributed), replace(OPTIONS, alike=False))
    assert looked_at == [1, 6]
    assert quick.methods == slow.methods == (("normal-form", 6),)


def test_one_row_that_is_wrong_is_refuted_with_all_that_is_wrong(looked_at):
    options = SolverOptions()
    quick, slow = (check(rows(distributed, wrong=4), how) for how in (options, replace(options, alike=False)))
    assert isinstance(quick, Refuted)
    assert quick.mismatches == slow.mismatches
    assert [wrong.index for wrong in quick.mismatches] == [(4,)]
    assert looked_at == [2, 6, 6]


def test_rows_in_which_two_variables_are_one_are_decided_by_themselves(looked_at):
    def twice(x, y, z, row):
        one = x if row % 2 else z
        return one * (x + y), x * one + one * y

    assert check(rows(twice), OPTIONS).methods == (("normal-form", 6),)
    assert looked_at == [2]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_one_equality_and_none_are_proved(shape):
    terms = Terms()
    x = terms.real("x")
    single, parallel = (np.full(shape, side, dtype=object) for side in (x * (x + 1), x * x + x))
    found = check(Obligation(terms, (Goal("y", single, parallel),)), OPTIONS)
    assert isinstance(found, Proved)
    assert sum(count for _, count in found.methods) == single.size


@pytest.mark.parametrize("most, decided", [(1, 12), (8, 1)])
def test_rows_that_have_much_in_common_are_decided_together(monkeypatch, looked_at, most, decided):
    monkeypatch.setattr(proofs, "MOST_AGAIN", most)

    def common(x, y, z, row):
        base = x.terms.real("a") + x.terms.real("b")
        return x * base, x * x.terms.real("a") + x * x.terms.real("b")

    assert check(rows(common, count=12), OPTIONS).methods == (("normal-form", 12),)
    assert looked_at == [decided]


def test_a_proof_is_made_once_and_what_is_open_is_asked_again(looked_at):
    known = Proofs()
    first, second = (check(obligation(product, names=names), OPTIONS, known) for names in ("xyz", "cab"))
    assert isinstance(first, Proved) and first == second
    assert looked_at == [1, 0]

    def wrong(x, y, z, i, terms):
        return x * (y + z), z * x + y * y

    outcomes = [check(obligation(wrong), OPTIONS, known) for _ in range(2)]
    assert not any(isinstance(outcome, Proved) for outcome in outcomes)
    assert looked_at == [1, 0, 1, 1]
    assert isinstance(check(obligation(product), SolverOptions(exhibit=False, seed=1), known), Proved)
    assert looked_at == [1, 0, 1, 1, 1]


def test_what_is_too_large_is_not_kept(monkeypatch, looked_at):
    monkeypatch.setattr(proofs, "MOST_TERMS", 3)
    known = Proofs()
    for names in ("xyz", "cab"):
        assert isinstance(check(obligation(product, names=names), OPTIONS, known), Proved)
    assert looked_at == [1, 1]
