"""What a rank makes for its share of the batch, of nothing that the batch is in: a mask, a row that is expanded."""

import pytest

from tests.values.outline import report

SINGLE = """
x input [4, 6]
w buffer [1, 6]
{made}
c = add(x, e)
r = relu(c)
l = sum(r)
loss l"""
RANKS = """
{made}
c[dp, :] = add(x[dp, :], f)
r[dp, :] = relu(c[dp, :])
p = sum(r[dp, :])
l = all_reduce(p) ranks=dp reduce="sum"
loss l"""
MADE = {
    "expanded": ("e = aten.expand(w) size=(4, 6)", "f = aten.expand(w) size=(2, 6)"),
    "repeated": ("e = aten.repeat(w) repeats=(4, 1)", "f = aten.repeat(w) repeats=(2, 1)"),
    "of the type of another": (
        'e = aten.new_full(x) size=(4, 6) fill_value=3 dtype="float32"',
        'f = aten.new_full(x[dp, :]) size=(2, 6) fill_value=3 dtype="float32"',
    ),
    "made of nothing": (
        'e = aten.full() size=(4, 6) fill_value=3 dtype="float32"',
        'f = aten.full() size=(2, 6) fill_value=3 dtype="float32"',
    ),
    "one of several": (
        'k = aten.full() size=(4, 6) fill_value=2 dtype="float32"\n'
        'm = aten.full() size=(4, 6) fill_value=3 dtype="float32"\ne = sub(m, k)',
        'g = aten.full() size=(2, 6) fill_value=2 dtype="float32"\n'
        'h = aten.full() size=(2, 6) fill_value=3 dtype="float32"\nf = sub(h, g)',
    ),
}
WRONG = {
    "expanded": ("f = aten.expand(w) size=(2, 6)", "g = mul(w) other=2.0\nf = aten.expand(g) size=(2, 6)"),
    "repeated": ("f = aten.repeat(w) repeats=(2, 1)", "g = mul(w) other=2.0\nf = aten.repeat(g) repeats=(2, 1)"),
    "of the type of another": ("fill_value=3", "fill_value=2"),
    "made of nothing": ("fill_value=3", "fill_value=2"),
    "one of several": ("fill_value=3", "fill_value=4"),
}


def asked(made, of_rank):
    return report(SINGLE.format(made=made), RANKS.format(made=of_rank), dp=2)


@pytest.mark.parametrize("name", MADE)
def test_what_a_rank_makes_for_its_share_is_followed(name):
    single, parallel = MADE[name]
    found = asked(single, parallel)
    assert found.verdict.name == "PROVED", found.open
    assert found.swept is None


@pytest.mark.parametrize("name", WRONG)
def test_what_differs_is_refuted(name):
    single, parallel = MADE[name]
    right, wrong = WRONG[name]
    assert right in parallel
    assert asked(single, parallel.replace(right, wrong)).verdict.name == "REFUTED"


def test_rows_that_are_not_alike_are_not_any_rows():
    """Both ranks take the first rows of a table, where the second one is due the others."""
    single = 'a = aten.arange() end=24 dtype="float32"\ne = aten.view(a) size=(4, 6)'
    parallel = 'b = aten.arange() end=12 dtype="float32"\nf = aten.view(b) size=(2, 6)'
    assert asked(single, parallel).verdict.name == "REFUTED"
