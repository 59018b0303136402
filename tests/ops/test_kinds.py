"""What attributes may hold by their names: sizes of one tensor multiply, those of pieces add up."""

import pytest

from tests.values.outline import verdict
from verdict.errors import ShapeError
from verdict.ops.kinds import MOST_ELEMENTS, require_kinds

LARGE = (104857600, 22544384, 22544384, 2048)
"""The weights of a layer in one buffer."""


@pytest.mark.parametrize("op, name", [("split", "sizes"), ("aten.split_with_sizes", "split_sizes")])
def test_sizes_of_pieces_add_up(op, name):
    require_kinds(op, {name: LARGE})
    for wrong in ((MOST_ELEMENTS, 1), (1.5, 2)):
        with pytest.raises(ShapeError, match=f"{op}: {name} is "):
            require_kinds(op, {name: wrong})


@pytest.mark.parametrize("op, name", [("view", "size"), ("aten.view", "size"), ("hlo.gather", "sizes")])
def test_sizes_of_a_tensor_multiply(op, name):
    require_kinds(op, {name: LARGE[1:2]})
    with pytest.raises(ShapeError, match=f"{op}: {name} is "):
        require_kinds(op, {name: LARGE})


PIECES = (2048,) * 5
BUFFER = """
  x input [10240]
  a activation [2048]
  b activation [2048]
  c activation [2048]
  d activation [2048]
  e activation [2048]
  y activation [2048]
  a, b, c, d, e = {split}
  y = mul(a) other={factor}
  output y
  output e
"""


@pytest.mark.parametrize("split", ["split(x) dim=0 sizes=", "aten.split_with_sizes(x) dim=0 split_sizes="])
def test_large_pieces_are_proved_and_refuted(split):
    single = BUFFER.format(factor=2.0, split=f"{split}{PIECES}")
    assert verdict(single, single) == "PROVED"
    assert verdict(single, BUFFER.format(factor=3.0, split=f"{split}{PIECES}")) == "REFUTED"
