"""Every rule against torch, on exact rationals, on terms, and its laws, over generated nodes."""

from fractions import Fraction
from numbers import Rational

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")
pytest.importorskip("hypothesis", reason="hypothesis draws the cases; it is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.ops.cases import MISFITS, SUBJECTS
from tests.ops.harness import check_laws, same, torch_run
from tests.ops.terms import MINUS_INFINITY, to_fractions, to_terms
from verdict.errors import ShapeError
from verdict.ops import RULES, table

EXAMPLES = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
OWN = {name for name in RULES if not name.startswith(("aten.", "hlo.", "constant"))}
"""The rules that have a gradient; test_aten.py holds the others."""
per_rule = pytest.mark.parametrize("op", sorted(OWN))


def test_every_rule_has_cases_and_a_misfit():
    assert set(SUBJECTS) == OWN
    assert {misfit.op for misfit in MISFITS} == OWN


@per_rule
@EXAMPLES
@given(data=st.data())
def test_torch_and_autograd(op, data):
    subject, rule = SUBJECTS[op], RULES[op]
    case = data.draw(subject.cases)
    inputs = case.inputs()
    outputs = rule.forward(inputs, case.attrs)
    grads = case.gradients(outputs)
    expected, gradients = torch_run(subject, case, grads)
    assert rule.axes(case.shapes, case.attrs).output_shapes == tuple(y.shape for y in expected)
    for k, (y, wanted) in enumerate(zip(outputs, expected, strict=True)):
        same(y, wanted, f"output {k}")
    for k, (dx, wanted) in enumerate(zip(rule.gradient(inputs, grads, case.attrs), gradients, strict=True)):
        same(dx, wanted, f"gradient {k}")


@per_rule
@EXAMPLES
@given(data=st.data())
def test_fractions_and_terms_mean_the_same_as_floats(op, data):
    subject, rule = SUBJECTS[op], RULES[op]
    case = data.draw(subject.cases)
    inputs = case.inputs()
    outputs = rule.forward(inputs, case.attrs)
    grads = case.gradients(outputs)
    gradients = rule.gradient(inputs, grads, case.attrs)
    for convert in (to_fractions, to_terms):
        others = [convert(x) for x in inputs]
        for k, (found, y) in enumerate(zip(rule.forward(others, case.attrs), outputs, strict=True)):
            same(found, y, f"output {k} of {convert.__name__}")
            assert not subject.rational or convert is to_terms or all(map(_exact, found.flat))
        pulled = rule.gradient(others, [convert(g) for g in grads], case.attrs)
        for k, (found, dx) in enumerate(zip(pulled, gradients, strict=True)):
            same(found, dx, f"gradient {k} of {convert.__name__}")
            exact = found is None or not subject.rational or convert is to_terms
            assert exact or all(map(_exact, found.flat))


def _exact(value):
    return isinstance(value, Rational) or value == MINUS_INFINITY


@per_rule
@EXAMPLES
@given(data=st.data())
def test_laws(op, data):
    case = data.draw(SUBJECTS[op].cases)
    check_laws(RULES[op], case, _cuts(data, RULES[op].axes(case.shapes, case.attrs)))


def _cuts(data, axes):
    return {
        atom.name: sorted(data.draw(st.sets(st.integers(1, atom.size - 1), min_size=1, max_size=2)))
        for atom in axes.atoms
        if atom.size > 1
    }


@per_rule
@EXAMPLES
@given(data=st.data())
def test_linear_means_linear(op, data):
    rule = RULES[op]
    case = data.draw(SUBJECTS[op].cases)
    inputs, others = case.inputs(), [-3 * x for x in case.inputs()]
    for position in rule.linear_in(len(inputs), case.attrs):
        changed = [*inputs[:position], others[position], *inputs[position + 1 :]]
        total = [*inputs[:position], inputs[position] + others[position], *inputs[position + 1 :]]
        runs = (rule.forward(arrays, case.attrs) for arrays in (inputs, changed, total))
        for one, two, both in zip(*runs, strict=True):
            same(one + two, both, f"input {position}")


@pytest.mark.parametrize("misfit", MISFITS, ids=lambda misfit: f"{misfit.op}-{misfit.words}")
def test_misfits_are_refused(misfit):
    with pytest.raises(ShapeError, match=misfit.words):
        RULES[misfit.op].axes(misfit.shapes, misfit.attrs)


@per_rule
@settings(EXAMPLES, max_examples=3)
@given(data=st.data())
def test_unknown_attributes_are_refused(op, data):
    case = data.draw(SUBJECTS[op].cases)
    assert set(case.attrs) <= set(RULES[op].attributes)
    with pytest.raises(ShapeError, match="unknown attribute colour"):
        RULES[op].axes(case.shapes, {**case.attrs, "colour": 1})


@per_rule
@settings(EXAMPLES, max_examples=3)
@given(data=st.data())
def test_wrong_numbers_of_inputs_are_refused(op, data):
    case = data.draw(SUBJECTS[op].cases)
    for shapes in ((), case.shapes + ((1,),) * 4):
        if op in {"accumulate", "concatenate"} and shapes:
            continue
        with pytest.raises(ShapeError, match="inputs, found"):
            RULES[op].axes(shapes, case.attrs)


def test_a_name_twice_is_an_error():
    rule = RULES["linear"]
    with pytest.raises(ValueError, match="two rules are named linear"):
        table((rule, rule))


def test_values_are_exact_where_they_can_be():
    four = np.array([4, Fraction(9, 4)], dtype=object)
    assert list(RULES["rsqrt"].forward([four], {})[0]) == [Fraction(1, 2), Fraction(2, 3)]
    masked = np.array([0, MINUS_INFINITY, 0], dtype=object)
    assert list(RULES["softmax"].forward([masked], {"dim": 0})[0]) == [Fraction(1, 2), 0, Fraction(1, 2)]
