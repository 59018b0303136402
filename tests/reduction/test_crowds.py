"""Rows of ids that are compared with each other stand in any order at reduced shapes, too. Random ids never ascend."""

import pytest

from tests.reduction.test_parts import longest, outline
from tests.values.outline import verdict


def ascending(rows):
    """Rows that are looked up, twice as great where all ids ascend."""
    return outline(
        f"t input int64 [{rows}]", "range t 0 20010", "e weight [20011, 4]", f"a activation int64 [{rows - 1}]",
        f"b activation int64 [{rows - 1}]", f"c activation bool [{rows - 1}]", "d activation bool []",
        "f activation []", f"x activation [{rows}, 4]", f"y activation [{rows}, 4]", f"z activation [{rows}, 4]",
        f"a = aten.slice.Tensor(t) dim=0 start=0 end={rows - 1}", f"b = aten.slice.Tensor(t) dim=0 start=1 end={rows}",
        "c = aten.gt.Tensor(b, a)", "d = aten.all(c)", 'f = aten._to_copy(d) dtype="float32"',
        "x = aten.embedding(e, t)", "y = aten.mul.Tensor(x, f)", "z = add(x, y)", "output z",
    )  # fmt: skip


@pytest.mark.parametrize("rows", [3, 8])
def test_as_many_elements_stay_as_rows_are_compared(rows):
    right = ascending(rows)
    assert rows <= longest(right) < 100
    assert verdict(right, right) == "PROVED"
    assert verdict(right, right.replace("aten.mul.Tensor(x, f)", "aten.zeros_like(x)")) != "PROVED"


def test_what_is_compared_with_positions_keeps_few():
    text = ascending(8).replace("aten.gt.Tensor(b, a)", "aten.gt.Scalar(b) other=7000").replace("a act", "q act")
    for line in ("  a = aten.slice.Tensor(t) dim=0 start=0 end=7\n", "  q activation int64 [7]\n"):
        text = text.replace(line, "")
    assert longest(text) <= 8
    assert verdict(text, text) == "PROVED"
