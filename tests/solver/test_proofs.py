"""Obligations that differ in names alone are proved once; whatever else they differ in keeps them apart."""

from fractions import Fraction

import numpy as np
import pytest

from verdict.options import SolverOptions
from verdict.outcome import Proved
from verdict.solver import Goal, Obligation, Proofs, Terms, proofs
from verdict.solver.proofs import form_of

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
    return form_of(obligation(make, **more))


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


def test_what_is_too_large_has_none(monkeypatch):
    monkeypatch.setattr(proofs, "MOST_TERMS", 3)
    assert form(product) is None


def test_a_proof_is_made_once_and_what_is_open_is_asked_again(monkeypatch):
    asked = []
    check = proofs.check

    def counted(question, options):
        asked.append(question)
        return check(question, options)

    monkeypatch.setattr(proofs, "check", counted)
    known = Proofs()
    first, second = (known.check(obligation(product, names=names), OPTIONS) for names in ("xyz", "cab"))
    assert isinstance(first, Proved) and first == second
    assert len(asked) == 1

    def wrong(x, y, z, i, terms):
        return x * (y + z), z * x + y * y

    outcomes = [known.check(obligation(wrong), OPTIONS) for _ in range(2)]
    assert not any(isinstance(outcome, Proved) for outcome in outcomes)
    assert len(asked) == 3
    assert isinstance(known.check(obligation(product), SolverOptions(exhibit=False, seed=1)), Proved)
    assert len(asked) == 4
