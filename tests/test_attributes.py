"""An attribute that no rule knows could change the meaning: nothing is said of its node, on either side."""

import pytest

from tests.builders import ask, mlp, rewrite_where, with_attrs


def odd(plan):
    return rewrite_where(plan, "relu", lambda node: with_attrs(node, inplace=True))


@pytest.mark.parametrize(("single", "parallel"), [(mlp(), odd(mlp(tp=2))), (odd(mlp()), mlp(tp=2))])
def test_an_unknown_attribute_is_no_refutation_and_no_proof(single, parallel):
    report = ask(single, parallel)
    assert (report.verdict.name, report.findings) == ("UNKNOWN", ())
    assert any("unknown attribute inplace" in item.reason for item in report.open), report.open


def test_assumptions_are_told_where_they_are_used():
    def names(**sizes):
        return {assumption.name for assumption in ask(mlp(), mlp(**sizes)).assumptions}

    assert not names(tp=2) & {"buffered-sends", "loss-sums-columns"}
    assert "buffered-sends" in names(pp=2)
    assert "loss-sums-columns" in names(dp=2)
