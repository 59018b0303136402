"""The harness catches what it is for: a false law, a wrong gradient, a wrong meaning. Each has a right twin."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is what the rules are held against; it is not installed")
pytest.importorskip("hypothesis", reason="hypothesis draws the cases; it is not installed")

from tests.ops.harness import Case, angles, check_laws, ids, real, same
from tests.ops.terms import Term, to_terms
from verdict.ops import RULES, Law

ROTARY = Case(((2, 2, 2, 4), (2, 2, 2, 4), (2, 2)), {}, (real, real, angles))
GROUPED = Case(((2, 2, 4, 4), (2, 2, 2, 4), (2, 2)), {}, (real, real, angles))
FALSE_LAWS = (
    ("softmax", "k", Law.EACH, Case(((3, 4),), {"dim": 1}, (real,))),
    ("softmax", "b0", Law.SUM, Case(((3, 4),), {"dim": 1}, (real,))),
    ("layernorm", "n0", Law.EACH, Case(((2, 4), (4,), (4,)), {"normalized_shape": (4,)}, (real,) * 3)),
    ("linear", "k", Law.SUM, Case(((2, 4), (3, 4), (3,)), {}, (real,) * 3)),
    ("linear", "k", Law.EACH, Case(((2, 4), (3, 4)), {}, (real,) * 2)),
    ("matmul", "m", Law.SUM, Case(((2, 4), (4, 3)), {}, (real,) * 2)),
    ("sum", "k0", Law.EACH, Case(((3, 2),), {"dim": (0,)}, (real,))),
    ("mean", "k0", Law.EACH, Case(((3, 2),), {"dim": (0,)}, (real,))),
    ("sum", "k0", Law.UNUSED, Case(((3, 2),), {"dim": (0,)}, (real,))),
    ("linear", "b0", Law.UNUSED, Case(((2, 4), (3, 4)), {}, (real,) * 2)),
    ("create_mask", "b0", Law.EACH, Case(((2, 4), (2, 4, 1)), {}, (ids(9), real))),
    ("create_mask", "b0", Law.SUM, Case(((2, 4), (2, 4, 1)), {}, (ids(9), real))),
    ("embedding", "v", Law.EACH, Case(((5,), (4, 2)), {"start": 2, "stop": 6}, (ids(7), real))),
    ("view", "x0", Law.EACH, Case(((2, 3),), {"size": (3, 2)}, (real,))),
    ("view", "y0", Law.UNUSED, Case(((5, 42),), {"size": (7, 5, 2, 3)}, (real,))),
    ("apply_rotary_emb", "pair", Law.EACH, ROTARY),
    ("apply_rotary_emb", "q", Law.EACH, GROUPED),
    ("create_mask", "s", Law.EACH, Case(((2, 4), (2, 4, 1)), {}, (ids(9), real))),
)


def _with_law(op, name, law):
    rule = RULES[op]

    def axes(shapes, attrs):
        found = rule.axes(shapes, attrs)
        assert name in {atom.name for atom in found.atoms}
        atoms = tuple(replace(atom, law=law) if atom.name == name else atom for atom in found.atoms)
        return replace(found, atoms=atoms)

    return replace(rule, axes=axes)


def _middle(rule, case):
    return {atom.name: [1] for atom in rule.axes(case.shapes, case.attrs).atoms}


@pytest.mark.parametrize(("op", "name", "law", "case"), FALSE_LAWS)
def test_a_false_law_is_caught(op, name, law, case):
    check_laws(RULES[op], case, _middle(RULES[op], case))
    planted = _with_law(op, name, law)
    with pytest.raises(AssertionError):
        check_laws(planted, case, _middle(planted, case))


def test_a_gradient_that_is_not_summed_over_repetitions_is_caught():
    case = Case(((3, 2), (1, 2)), {}, (real, real))
    check_laws(RULES["mul"], case, {"d0": [1], "d1": [1]})
    repeated = replace(RULES["mul"], gradient=lambda x, g, attrs: (g[0] * x[1], (g[0] * x[0])[:1]))
    with pytest.raises(AssertionError, match="gradient 1 along d0"):
        check_laws(repeated, case, {"d0": [1], "d1": [1]})


def test_a_mean_whose_divisor_follows_its_share_is_caught():
    case = Case(((4, 2),), {"dim": (0,)}, (real,))
    check_laws(RULES["mean"], case, {"k0": [1], "b1": [1]})
    local = replace(RULES["mean"], reduce=lambda attrs, scale: attrs)
    with pytest.raises(AssertionError, match="output 0 along k0"):
        check_laws(local, case, {"k0": [1], "b1": [1]})


def test_same_compares_shapes_values_and_absence():
    x = np.ones((2, 1))
    same(x, x + 1e-12, "equal")
    same(None, None, "absent")
    for other in (x + 1e-3, x.reshape(1, 2), None, x * np.nan):
        with pytest.raises(AssertionError):
            same(x, other, "different")


def test_terms_refuse_what_the_solver_refuses():
    (one,) = to_terms(np.ones(1))
    assert (one * 3 + 1).value == 4
    for inexact in (0.5, np.float64(1), float("inf"), True):
        with pytest.raises(TypeError):
            one + inexact
    with pytest.raises(TypeError):
        one.power(0.5)
    with pytest.raises(TypeError):
        bool(Term(1))
