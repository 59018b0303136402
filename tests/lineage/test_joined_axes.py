"""Parts of several sums that a rank adds before they are reduced: a part of one sum, where all are cut alike."""

import pytest

from tests.builders import EXPLAINED
from tests.sampled import one_of
from tests.values.outline import plans as outlined
from verdict.options import Options, SolverOptions
from verdict.phases import Query, walk
from verdict.pipeline import verify

SINGLE = """
x input [4, 8]
z input [4, 8]
v weight [5, 8]
w weight [5, 8]
g buffer [5]
a = linear(x, v)
b = linear(z, w)
s = add(a, b)
t = add(s, a)
y = mul(t, g)
l = sum(y)
loss l"""
PARALLEL = """
c = linear(x[:, {first}], v[:, {first}])
d = linear(z[:, {second}], w[:, {second}])
e = add(c, d)
f = add(e, c)
h = mul(f, g)
y = all_reduce(h) ranks=tp reduce="sum"
l = sum(y)
loss l"""
OPTIONS = Options(0, solver=SolverOptions(timeout=20, z3=False))
SINGLE = SINGLE.replace(" weight ", " buffer ")


def pair(**texts):
    return outlined(SINGLE, PARALLEL.format(**{"first": "tp", "second": "tp"} | texts), tp=2)


def test_parts_that_are_cut_alike_are_added_before_they_are_reduced():
    report = walk(Query(*pair(), OPTIONS)).report
    assert (report.verdict.name, report.swept) == ("PROVED", None)
    assert verify(*pair(), Options(0, solver=OPTIONS.solver, exhaustive=True)).verdict.name == "PROVED"


def test_a_part_of_another_place_is_right_too_and_left_to_the_sweep():
    """Rank 0 adds the first half of the one sum to the second half of the other: over both ranks that is all."""
    single, parallel = pair(second="<4:8 | 0:4>")
    assert walk(Query(single, parallel, OPTIONS)).report.verdict.name != "PROVED"
    assert verify(single, parallel, OPTIONS).verdict.name == "PROVED"


@pytest.mark.parametrize("second", ["0:4", "<0:4 | 0:8>"])
def test_a_part_that_two_ranks_add_is_not_proved(second):
    assert verify(*pair(second=second), OPTIONS, causes=one_of(EXPLAINED)).verdict.name == "REFUTED"
