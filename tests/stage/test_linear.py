"""Laws that the form of terms shows, and those that it does not."""

import pytest

from verdict.lineage import LinearLaw, Signature
from verdict.options import SolverOptions
from verdict.outcome import Proved
from verdict.stage import run
from verdict.stage.linear import additive
from verdict.stage.shrink import OTHER, SMALLEST

CONVOLUTION = (
    ("bias_sizes", None), ("dilation", (1, 1)), ("groups", 1), ("output_mask", (True, True, False)),
    ("output_padding", (0, 0)), ("padding", (1, 1)), ("stride", (2, 2)), ("transposed", False),
)  # fmt: skip
LAWS = {
    "a convolution's gradient": ("aten.convolution_backward", ((4, 8, 2, 2), (4, 4, 4, 4), (8, 4, 3, 3)), CONVOLUTION),
    "a product": ("mul", ((4, 3), (4, 3)), ()),
    "a matrix product": ("aten.mm", ((4, 3), (3, 5)), ()),
}
OTHERS = {
    "a shift": ("add", ((4, 3),), (("other", 1.0),)),
    "a square": ("aten.square", ((4, 3),), ()),
    "an exponential": ("aten.exp", ((4, 3),), ()),
    "a sum of something else": ("add", ((4, 3), (4, 3)), ()),
}


def law(op, shapes, attrs, alias=None):
    count, wanted = len(shapes), (True, True, False) if op == "aten.convolution_backward" else (True,)
    same = alias or tuple(range(count))
    columns = (-1,) * count
    return LinearLaw(Signature(op, attrs, shapes, ("float32",) * count, columns, same, 0, wanted, len(wanted)), (0,))


@pytest.mark.parametrize("name", LAWS)
def test_laws_that_the_form_shows(name):
    found = law(*LAWS[name])
    assert all(additive(found, 1, 1, sizes) for sizes in (SMALLEST, OTHER))
    assert isinstance(run(found, 1, SolverOptions()), Proved)


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_not_additive_has_no_proof(name):
    found = law(*OTHERS[name])
    assert additive(found, 1, 1, SMALLEST) == 0
    assert not isinstance(run(found, 1, SolverOptions()), Proved)


def test_one_tensor_that_is_read_twice_is_no_symbol_of_one_input():
    found = law("mul", ((4, 3), (4, 3)), (), alias=(0, 0))
    assert additive(found, 1, 1, SMALLEST) == 0
