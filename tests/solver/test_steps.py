"""The steps of check one by one: each closes what it is there for, and no step proves what is false."""

from fractions import Fraction

import pytest

from tests.solver.build import HALF, array, exp, largest, obligation
from tests.solver.families import FAULTS
from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import InternalError, Terms, check
from verdict.solver import check as checked
from verdict.solver.boundary import boundary_points
from verdict.solver.errors import LimitError, VacuousError
from verdict.solver.normal import NormalForms
from verdict.solver.obligation import elements
from verdict.solver.premises import solve
from verdict.solver.ring import Ring
from verdict.solver.sampling import POINTS, sample
from verdict.solver.smt import Answer, ask


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def xyz(terms):
    return [terms.real(name) for name in "xyz"]


def same_form(terms, a, b, limit=20_000):
    forms = NormalForms(Ring(limit))
    forms.add(terms.below([a, b]))
    return forms.of(a) == forms.of(b)


class TestNormalForm:
    def test_ring(self, terms, xyz):
        x, y, z = xyz
        assert same_form(terms, (x + y) * (x - y), x * x - y * y)
        assert same_form(terms, (x + y + z).power(3), (x + y + z) * (x + y + z) * (x + y + z))
        assert not same_form(terms, (x + y) * (x + y), x * x + y * y)

    def test_exponentials(self, terms, xyz):
        x, y, _ = xyz
        assert same_form(terms, (x * (y + 1)).exp(), (x * y).exp() * x.exp())
        assert same_form(terms, (x / 3).exp().power(3), x.exp())
        assert same_form(terms, exp(array(terms, "a", 2) - x).sum() * x.exp(), exp(array(terms, "a", 2)).sum())
        assert not same_form(terms, (x * y).exp(), x.exp() * y.exp())
        assert not same_form(terms, (x + 1).exp(), x.exp())

    def test_logarithms(self, terms, xyz):
        x, y, _ = xyz
        p = terms.positive("p")
        assert same_form(terms, (p * p * x.exp() * 6).log(), 2 * p.log() + x + terms.constant(6).log())
        assert same_form(terms, terms.constant(6).log(), terms.constant(2).log() + terms.constant(3).log())
        assert same_form(terms, (3 * (1 + x * x).log()).exp(), (1 + x * x).power(3))
        assert not same_form(terms, (x * y).log(), x.log() + y.log())

    def test_roots(self, terms, xyz):
        x = xyz[0]
        p = terms.positive("p")
        two, three = terms.constant(2), terms.constant(3)
        assert same_form(terms, two.power(HALF) * three.power(HALF), terms.constant(6).power(HALF))
        assert same_form(terms, (4 * p * p * p).power(HALF), 2 * p * p.power(HALF))
        assert same_form(terms, (x * x + 1).power(Fraction(3, 2)), (x * x + 1) * (x * x + 1).power(HALF))
        assert not same_form(terms, (x * x).power(HALF), x)
        assert not same_form(terms, two.power(HALF), three.power(HALF))

    def test_fractions(self, terms, xyz):
        x, y, _ = xyz
        assert same_form(terms, 1 / (2 * x * y), HALF / x / y)
        assert same_form(terms, 1 / (1 + (-x).exp()), x.exp() / (x.exp() + 1))
        assert same_form(terms, 1 / (1 + 1 / x), x / (1 + x))
        assert same_form(terms, ((x * x + 1) * y / (x * x + 1)).opaque("f"), y.opaque("f"))
        assert not same_form(terms, 1 / (x + y), 1 / x + 1 / y)

    def test_indicators(self, terms, xyz):
        i, j = terms.index("i", 3), terms.index("j", 3)
        one_hot = [i.indicator(v) for v in range(3)]
        assert same_form(terms, one_hot[0] * one_hot[1] * xyz[0], terms.constant(0))
        assert same_form(terms, one_hot[2] * one_hot[2], one_hot[2])
        assert same_form(terms, sum(one_hot), terms.constant(1))
        assert not same_form(terms, i.indicator(0), j.indicator(0))

    def test_maxima(self, terms, xyz):
        x, y, z = xyz
        assert same_form(terms, (x + z).maximum(y + z), z + x.maximum(y))
        assert same_form(terms, (2 * x).maximum(2 * y), 2 * x.maximum(y))
        assert same_form(terms, (x + 1).maximum(x), x + 1)
        assert same_form(terms, (x.maximum(y) + 1).maximum(z + 1), largest([z, y, x]) + 1)
        assert not same_form(terms, (-x).maximum(-y), -x.maximum(y))
        assert not same_form(terms, x.maximum(y), x + y)

    def test_limit(self, terms):
        x = array(terms, "x", 8)
        with pytest.raises(LimitError):
            same_form(terms, x.sum().power(12), terms.constant(0), limit=200)

    def test_identically_zero_denominator(self, terms, xyz):
        x, y, _ = xyz
        with pytest.raises(VacuousError):
            same_form(terms, 1 / ((x + y) * (x + y) - x * x - 2 * x * y - y * y), x)


class TestPremises:
    def test_parallel_variables_are_pivots(self, terms, xyz):
        x = xyz[0]
        p, q = (terms.real(name, parallel=True) for name in "pq")
        assert solve(terms, [(p + 2 * q, x)]) == {p: x - 2 * q}
        assert solve(terms, [(p + q, x), (p - q, 0)]) == {p: x / 2, q: x / 2}

    def test_order_of_premises_does_not_matter(self, terms, xyz):
        x, y, _ = xyz
        p = [terms.real(f"p{i}", parallel=True) for i in range(3)]
        premises = [(p[0] + p[1], x), (p[1] + p[2], y), (p[2], x - y)]
        assert solve(terms, premises) == solve(terms, premises[::-1])


class TestZ3:
    def test_right_families_are_never_refuted_by_a_model_that_replays(self):
        for family in FAULTS:
            outcome = check(family(""), SolverOptions(z3_timeout=0.1))
            assert isinstance(outcome, Proved), family.__name__

    @pytest.mark.parametrize("family", FAULTS, ids=lambda family: family.__name__)
    def test_z3_proves_no_wrong_element(self, family):
        for fault in FAULTS[family]:
            question = family(fault)
            if question.premises:
                continue
            outcome = check(question, SolverOptions(z3=False))
            assert isinstance(outcome, Refuted)
            wrong = {(mismatch.goal, mismatch.index) for mismatch in outcome.mismatches}
            chosen = [element for element in elements(question) if (element.goal, element.index) in wrong]
            assert not ask(chosen[:1], SolverOptions(z3_timeout=0.1)).proved

    def test_disagreement_is_an_internal_error(self, monkeypatch, terms, xyz):
        x, y, _ = xyz
        module = __import__("verdict.solver.check", fromlist=["check"])
        monkeypatch.setattr(module, "_not_closed_by_form", lambda question, forms, wanted, apart: {})
        monkeypatch.setattr(module, "at_random", lambda question, sampled: None)
        with pytest.raises(InternalError):
            checked(obligation(terms, ("y", x * y, x * y * y)), SolverOptions())

    def test_without_z3_nothing_is_called_confirmed(self, terms, xyz):
        x, y, _ = xyz
        question = obligation(terms, ("y", (x + y) * (x + y), x * x + 2 * x * y + y * y))
        assert check(question, SolverOptions()) == Proved((("normal-form", 1),), True)
        assert check(question, SolverOptions(z3=False)) == Proved((("normal-form", 1),), False)

    def test_an_unanswered_question_is_unknown(self, monkeypatch, terms, xyz):
        module = __import__("verdict.solver.check", fromlist=["check"])
        monkeypatch.setattr(module, "ask", lambda wanted, options: Answer(False))
        question = obligation(terms, ("y", xyz[0].maximum(0), xyz[0] * xyz[0].opaque("step")))
        assert isinstance(check(question, SolverOptions()), Unknown)


class TestLimits:
    def test_timeout_is_unknown(self, terms, xyz):
        x, y, _ = xyz
        question = obligation(terms, ("y", (x + y) * (x + y), x * x + 2 * x * y + y * y))
        outcome = check(question, SolverOptions(timeout=-1.0))
        assert isinstance(outcome, Unknown)
        assert "seconds" in outcome.reason

    def test_shapes_that_differ_are_unknown(self, terms):
        question = obligation(terms, ("y", array(terms, "a", 2), array(terms, "b", 3)))
        assert isinstance(check(question, SolverOptions()), Unknown)

    def test_mismatches_are_capped(self, terms):
        a, b = array(terms, "a", 10, 10), array(terms, "b", 1)
        outcome = check(obligation(terms, ("y", a, a + b[0])), SolverOptions())
        assert isinstance(outcome, Refuted)
        assert len(outcome.mismatches) == 64


class TestPoints:
    def test_samples_respect_declarations(self, terms):
        p, i = terms.positive("p"), terms.index("i", 3)
        columns = sample([p, i, terms.real("x")], seed=0)
        assert (columns[p] > 0).all()
        assert set(columns[i]) == {0.0, 1.0, 2.0}
        assert all(len(values) == POINTS for values in columns.values())

    def test_what_has_a_root_taken_is_positive_at_most_points(self, terms):
        """The two sides differ at negative numbers, and forty roots have values at hardly any point by chance."""
        roots = [terms.real(f"r{k}") for k in range(40)]
        y = terms.real("y")
        total = sum((root + Fraction(1, 8)).power(Fraction(1, 2)) + root.log() for root in roots)
        wrong = check(obligation(terms, ("y", total * y, total * y.maximum(0))), SolverOptions())
        assert isinstance(wrong, Refuted)
        columns = sample(terms.below([total]), seed=0)
        assert all((columns[root] >= 0).sum() > POINTS // 2 for root in roots)
        assert any((columns[root] < 0).any() for root in roots)

    def test_boundaries_are_met_exactly_and_passed_on_both_sides(self, terms, xyz):
        x, y, _ = xyz
        gap = 3 * x - y - 12
        columns = boundary_points(terms.below([gap.opaque("step")]), sample([x, y], seed=0))
        values = 3 * columns[x] - columns[y] - 12
        assert (values == 0).any()
        assert (values > 0).any()
        assert (values < 0).any()
