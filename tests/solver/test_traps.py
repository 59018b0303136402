"""Questions on which solvers are known to answer wrongly: division, domains, vacuity, spurious models, thin sets."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from tests.solver.build import HALF, MINUS_INFINITY, array, exp, ids, largest, obligation, softmax
from tests.solver.replay import assert_replays
from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted, Unknown
from verdict.solver import Terms, check

OPTIONS = SolverOptions()


def decide(terms, single, parallel, premises=(), options=OPTIONS):
    question = obligation(terms, ("y", single, parallel), premises=premises)
    outcome = check(question, options)
    if isinstance(outcome, Refuted):
        assert_replays(question, outcome)
    return outcome


@pytest.fixture
def terms():
    return Terms()


@pytest.fixture
def xyz(terms):
    return [terms.real(name) for name in "xyz"]


class TestDivision:
    def test_x_over_x_is_one_where_the_single_side_divides_too(self, terms, xyz):
        assert isinstance(decide(terms, xyz[0] / xyz[0], 1), Proved)

    def test_a_new_division_is_refuted_where_only_it_is_undefined(self, terms, xyz):
        outcome = decide(terms, 1, xyz[0] / xyz[0])
        assert isinstance(outcome, Refuted)
        assert np.isnan(outcome.mismatches[0].parallel)

    def test_division_by_zero_on_both_sides_is_no_proof(self, terms, xyz):
        x, y, _ = xyz
        assert isinstance(decide(terms, x / (y - y), x / (2 * y - 2 * y)), Unknown)

    def test_a_denominator_that_is_zero_after_expansion_is_no_proof(self, terms, xyz):
        x, y, z = xyz
        zero = (y + z) * (y + z) - y * y - 2 * y * z - z * z
        assert isinstance(decide(terms, x / zero, x / zero), Unknown)
        assert isinstance(decide(terms, x / zero, 2 * x / zero), Unknown)

    def test_zero_times_a_quotient_keeps_its_domain(self, terms, xyz):
        x, y, _ = xyz
        assert isinstance(decide(terms, x, x + 0 * (1 / y)), Refuted)
        assert isinstance(decide(terms, x + 0 * (1 / y), x), Proved)

    def test_cancelling_a_factor_keeps_its_domain(self, terms, xyz):
        x, y, _ = xyz
        assert isinstance(decide(terms, x, x * y / y), Refuted)
        assert isinstance(decide(terms, x * y / y, x), Proved)

    def test_two_quotients_that_differ_are_not_equal_by_division_by_zero(self, terms, xyz):
        x, y, z = xyz
        assert isinstance(decide(terms, x / y, x / z), Refuted)


class TestDomains:
    def test_root_of_a_square_is_not_the_number(self, terms, xyz):
        outcome = decide(terms, xyz[0], (xyz[0] * xyz[0]).power(HALF))
        assert isinstance(outcome, Refuted)

    def test_square_of_a_root_is_the_number_where_the_single_side_has_the_root(self, terms, xyz):
        x = xyz[0]
        assert isinstance(decide(terms, x.power(HALF) * x.power(HALF), x), Proved)
        assert isinstance(decide(terms, x, x.power(HALF) * x.power(HALF)), Refuted)

    def test_exp_of_log_needs_a_positive_argument(self, terms, xyz):
        x = xyz[0]
        assert isinstance(decide(terms, x.log().exp(), x), Proved)
        assert isinstance(decide(terms, x, x.log().exp()), Refuted)

    def test_sums_of_squares_and_exponentials_need_no_condition(self, terms, xyz):
        x, y, _ = xyz
        positive = x * x + y.exp() + 1
        assert isinstance(decide(terms, x, x * positive / positive), Proved)
        assert isinstance(decide(terms, positive.log() + y, (positive * y.exp()).log()), Proved)

    def test_a_condition_in_other_words_follows(self, terms, xyz):
        x, y, _ = xyz
        assert isinstance(decide(terms, 1 / (x * x - y * y), 1 / (x - y) / (x + y)), Proved)
        assert isinstance(decide(terms, 1 / (2 * x * y), HALF / y / x), Proved)

    def test_a_stronger_condition_of_the_parallel_side_is_found(self, terms, xyz):
        x, y, _ = xyz
        outcome = decide(terms, x * (y - 7), x * (y - 7) * (y - 7) / (y - 7))
        assert not isinstance(outcome, Proved)

    def test_single_side_conditions_count_for_their_own_element(self, terms, xyz):
        """Where y is zero there is no x / y, but there is x."""
        x, y, _ = xyz
        question = obligation(terms, ("a", x / y, x / y), ("b", x, x * y / y))
        assert isinstance(check(question, OPTIONS), Refuted)
        question = obligation(terms, ("a", x / y, x / y), ("b", x * y / y, x))
        assert isinstance(check(question, OPTIONS), Proved)
        assert isinstance(check(replace(question, both=True), OPTIONS), Unknown)


class TestVacuity:
    def test_contradicting_premises(self, terms, xyz):
        x = xyz[0]
        p = terms.real("p", parallel=True)
        assert isinstance(decide(terms, x, p + 1, [(p, x), (p, x + 1)]), Unknown)

    def test_slice_and_part_claimed_together(self, terms, xyz):
        x = xyz[0]
        p = [terms.real(f"p{i}", parallel=True) for i in range(2)]
        premises = [(p[0], x), (p[1], x), (p[0] + p[1], x)]
        outcome = decide(terms, x, p[0] + p[1], premises)
        assert isinstance(outcome, Unknown)
        assert "restrict" in outcome.reason

    def test_one_shard_claimed_to_be_two_regions(self, terms, xyz):
        p = terms.real("p", parallel=True)
        assert isinstance(decide(terms, xyz[0], p, [(p, xyz[0]), (p, xyz[1])]), Unknown)

    def test_copies_and_parts_are_not_vacuous(self, terms, xyz):
        x = xyz[0]
        p = [terms.real(f"p{i}", parallel=True) for i in range(3)]
        assert isinstance(decide(terms, x * x, x * (p[0] + p[1]), [(p[0] + p[1], x)]), Proved)
        assert isinstance(decide(terms, x * x, x * p[2], [(p[2], p[1]), (p[1], x)]), Proved)

    def test_premises_that_repeat_themselves_are_fine(self, terms, xyz):
        p = terms.real("p", parallel=True)
        assert isinstance(decide(terms, xyz[0], p, [(p, xyz[0]), (2 * p, 2 * xyz[0])]), Proved)

    def test_a_premise_that_is_not_linear_is_refused(self, terms, xyz):
        p = terms.real("p", parallel=True)
        assert isinstance(decide(terms, xyz[0], p, [(p * p, xyz[0])]), Unknown)

    def test_an_index_may_equal_an_index_of_the_same_range_only(self, terms):
        i, j = terms.index("i", 3), terms.index("j", 3, parallel=True)
        k = terms.index("k", 2, parallel=True)
        assert isinstance(decide(terms, i.indicator(1), j.indicator(1), [(j, i)]), Proved)
        assert isinstance(decide(terms, i.indicator(1), k.indicator(1), [(k, i)]), Unknown)

    def test_a_side_that_is_never_defined(self, terms, xyz):
        negative = -(xyz[0] * xyz[0]) - 1
        assert isinstance(decide(terms, negative.log(), (negative * 2).log()), Unknown)

    def test_a_masked_row_without_any_key(self, terms):
        x = array(terms, "x", 2)
        row = softmax(x + np.array([MINUS_INFINITY, MINUS_INFINITY], dtype=object))
        assert isinstance(check(obligation(terms, ("y", row, row)), OPTIONS), Unknown)
        outcome = check(obligation(terms, ("y", softmax(x), row)), OPTIONS)
        assert isinstance(outcome, Refuted)


class TestSpuriousModels:
    def test_loss_with_the_maximum_and_without(self, terms):
        x = array(terms, "x", 3)
        top = largest(x)
        plain, shifted = exp(x).sum().log() - x[0], exp(x - top).sum().log() + top - x[0]
        assert isinstance(decide(terms, plain, shifted), Proved)

    def test_a_law_that_only_z3_knows(self, terms, xyz):
        x, y, _ = xyz
        outcome = decide(terms, x.maximum(y) + x + y - x.maximum(y), x + y - x.maximum(y) + y.maximum(x))
        assert isinstance(outcome, Proved)
        outcome = decide(terms, x.maximum(0), x * x.opaque("step"))
        assert isinstance(outcome, Proved)
        assert dict(outcome.methods) == {"z3": 1}

    def test_congruence_under_an_unknown_function(self, terms, xyz):
        x, y, _ = xyz
        outcome = decide(terms, (x.maximum(0) + y).opaque("f"), (x * x.opaque("step") + y).opaque("f"))
        assert isinstance(outcome, Proved)

    def test_what_nothing_decides_is_unknown(self, terms, xyz):
        x = xyz[0]
        sine, cosine = x.opaque("sin"), x.opaque("cos")
        assert isinstance(decide(terms, sine * sine + cosine * cosine, 1), Unknown)


class TestThinSets:
    def test_dropped_clamp(self, terms, xyz):
        x, y, _ = xyz
        clamped = -((-(x.maximum(-50))).maximum(-50))
        assert isinstance(decide(terms, clamped * y, -((-x).maximum(-50)).maximum(-50) * y), Proved | Refuted)
        assert isinstance(decide(terms, clamped * y, x * y), Refuted)

    def test_clip_that_starts_far_out(self, terms, xyz):
        x, y, _ = xyz
        clipped = -((-(x * y)).maximum(-(10**6)))
        assert isinstance(decide(terms, clipped, x * y), Refuted)

    def test_step_at_zero(self, terms, xyz):
        x, y, _ = xyz
        assert isinstance(decide(terms, (x - y - 3).opaque("step"), 1 - (y + 3 - x).opaque("step")), Refuted)

    def test_boundary_in_an_offset_that_no_sample_meets(self, terms, xyz):
        x, y, _ = xyz
        gap = x - Fraction(1237, 7) * y - Fraction(31, 11)
        outcome = decide(terms, gap.opaque("step"), 1 - (-gap).opaque("step"))
        assert isinstance(outcome, Refuted)

    def test_repeated_ids(self, terms):
        token = ids(terms, "id", 2, 64)
        dy = array(terms, "dy", 2)
        add = token[0].indicator(63) * dy[0] + token[1].indicator(63) * dy[1]
        twice = token[0].indicator(63) * token[1].indicator(63)
        assert isinstance(decide(terms, add, add - twice * dy[0]), Refuted)

    def test_ids_cover_their_range(self, terms):
        token = terms.index("id", 5)
        assert isinstance(decide(terms, sum(token.indicator(v) for v in range(5)), 1), Proved)
        assert isinstance(decide(terms, sum(token.indicator(v) for v in range(4)), 1), Refuted)


class TestMinusInfinity:
    def test_equal_masks_and_unequal_ones(self, terms, xyz):
        x = xyz[0]
        assert isinstance(decide(terms, x + MINUS_INFINITY, MINUS_INFINITY), Proved)
        assert isinstance(decide(terms, MINUS_INFINITY, x), Refuted)
        assert isinstance(decide(terms, x, MINUS_INFINITY), Refuted)

    def test_undefined_arithmetic_is_no_proof(self, terms, xyz):
        outcome = decide(terms, 0 * (xyz[0] + MINUS_INFINITY), 0 * (xyz[1] + MINUS_INFINITY))
        assert isinstance(outcome, Unknown)


class TestSigns:
    def test_declared_signs_are_kept_by_witnesses(self, terms):
        p, q = terms.positive("p"), terms.real("q")
        assert isinstance(decide(terms, (p * p).power(HALF), p), Proved)
        assert isinstance(decide(terms, (p * p).power(HALF), p + q * 0 + q), Refuted)

    def test_positivity_of_an_eliminated_variable_restricts_the_witness(self, terms, xyz):
        x = xyz[0]
        p = terms.positive("p", parallel=True)
        outcome = decide(terms, x.maximum(0), 2 * p, [(p, x)])
        assert isinstance(outcome, Refuted)
        assert dict(outcome.witness)["p"] > 0
