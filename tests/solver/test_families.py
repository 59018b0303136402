"""Each parallelism is proved, and each fault in it refuted by a witness that replays."""

import pytest

from tests.solver.families import FAULTS, norms_of_halves
from tests.solver.replay import assert_replays
from verdict.options import SolverOptions
from verdict.outcome import Proved, Refuted
from verdict.solver import check

WITHOUT_Z3 = SolverOptions(z3=False)


@pytest.mark.parametrize("family", FAULTS, ids=lambda family: family.__name__)
def test_right_twin_is_proved_and_z3_agrees(family):
    outcome = check(family(""), SolverOptions(z3_timeout=3.0))
    assert isinstance(outcome, Proved)
    assert outcome.confirmed
    assert sum(count for _, count in outcome.methods) == sum(goal.single.size for goal in family("").goals)


@pytest.mark.parametrize(
    ("family", "fault"), [(family, fault) for family, faults in FAULTS.items() for fault in faults]
)
def test_fault_is_refuted_by_a_witness_that_replays(family, fault):
    obligation = family(fault)
    outcome = check(obligation, WITHOUT_Z3)
    assert isinstance(outcome, Refuted)
    assert_replays(obligation, outcome)


@pytest.mark.parametrize("family", FAULTS, ids=lambda family: family.__name__)
def test_witnesses_are_small(family):
    for fault in FAULTS[family]:
        outcome = check(family(fault), WITHOUT_Z3)
        assert isinstance(outcome, Refuted)
        assert sum(value != 0 for _, value in outcome.witness) <= 8
        assert all(abs(value) <= 4 and value.denominator <= 2 for _, value in outcome.witness)


@pytest.mark.parametrize("parts", [2, 4, 8])
def test_more_parts_are_proved_by_the_same_means(parts):
    from tests.solver.families import linear_columns, linear_rows  # noqa: PLC0415

    for family in (linear_columns, linear_rows):
        outcome = check(family("", parts), WITHOUT_Z3)
        assert isinstance(outcome, Proved)
        assert dict(outcome.methods).keys() == {"same"}


@pytest.mark.parametrize("width", [4, 24])
def test_scales_leave_norms_of_norms_whole_in_the_normal_form(width):
    outcome = check(norms_of_halves("", width), WITHOUT_Z3)
    assert isinstance(outcome, Proved)
    assert dict(outcome.methods) == {"normal-form": 1}
