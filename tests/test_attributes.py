"""An attribute that no rule knows could change the meaning: it is refused on either side."""

import pytest

from tests.builders import ask, mlp, rewrite_where, with_attrs
from verdict.errors import PlanFileError


def odd(plan):
    return rewrite_where(plan, "relu", lambda node: with_attrs(node, inplace=True))


@pytest.mark.parametrize(("single", "parallel"), [(mlp(), odd(mlp(tp=2))), (odd(mlp()), mlp(tp=2))])
def test_an_unknown_attribute_is_refused(single, parallel):
    with pytest.raises(PlanFileError, match="an attribute inplace, which is unknown; known: none"):
        ask(single, parallel)


def test_assumptions_are_told_where_they_are_used():
    def names(**sizes):
        return {assumption.name for assumption in ask(mlp(), mlp(**sizes)).assumptions}

    assert not names(tp=2) & {"buffered-sends", "loss-sums-columns"}
    assert "buffered-sends" in names(pp=2)
    assert "loss-sums-columns" in names(dp=2)
