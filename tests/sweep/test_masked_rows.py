"""A row of which a mask leaves something adds up to a positive number; one of which it leaves nothing, to zero."""

import pytest

from tests.reduction.test_parts import outline
from tests.values.outline import verdict

NAMES = ("x input [5, 5]", "w weight [5, 5]", "i activation int64 [5]", "j activation int64 [5, 1]")
MASK = ('i = aten.arange() end=5 dtype="int64"', "j = aten.unsqueeze(i) dim=1")


def attention(compare, last):
    """Two softmaxes by hand, the second one of what the first one makes: the greatest of its rows must be numbers."""
    names, steps, rows = [*NAMES, "t activation bool [5, 5]"], [*MASK, f"t = aten.{compare}.Tensor(i, j)"], "x"
    for n in range(2):
        names += [f"{name}{n} activation [5, 5]" for name in "sdep"] + [f"{name}{n} activation [5, 1]" for name in "mn"]
        steps += [
            f"s{n} = aten.masked_fill.Scalar({rows}, t) value=-inf",
            f"m{n} = amax(s{n}) dim=(1,) keepdim=True",
            f"d{n} = sub(s{n}, m{n})",
            f"e{n} = exp(d{n})",
            f"n{n} = sum(e{n}) dim=(1,) keepdim=True",
            f"p{n} = aten.div.Tensor(e{n}, n{n})",
        ]
        rows = f"p{n}"
    names += ["q activation [5, 5]", "y activation [5, 5]"] if "q" in last else ["y activation [5, 5]"]
    return outline(*names, *steps, *last.split("; "), "output y")


WHOLE, GUARDED = "y = mul(p1, w)", "q = aten.masked_fill.Scalar(p1, t) value=0; y = mul(q, w)"


def test_what_a_mask_covers_is_zero_where_each_row_has_a_number():
    assert verdict(attention("gt", GUARDED), attention("gt", WHOLE)) == "PROVED"
    assert verdict(attention("gt", WHOLE), attention("gt", GUARDED)) == "PROVED"


def test_a_row_that_is_masked_as_a_whole_is_no_number():
    assert verdict(attention("ge", GUARDED), attention("ge", WHOLE)) != "PROVED"


@pytest.mark.parametrize("compare", ["gt", "ge"])
def test_another_number_than_zero_is_not(compare):
    assert verdict(attention(compare, GUARDED), attention(compare, GUARDED.replace("value=0", "value=1"))) != "PROVED"
